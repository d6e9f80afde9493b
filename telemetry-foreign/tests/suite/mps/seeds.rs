//! What fuzzing begins with: `UPDATE_SEEDS=1` writes it.

use std::path::Path;

use super::made;

#[test]
fn the_seed_is_the_small_log() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/mps/small.log");
    if std::env::var_os("UPDATE_SEEDS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made::small()).unwrap();
    }
    let seed = std::fs::read(&path).expect("the seed is there; help: UPDATE_SEEDS=1 makes it");
    assert!(seed == made::small(), "{} is of another log; help: UPDATE_SEEDS=1 makes it", path.display());
}
