//! The kinds of stores, by the scheme of their address.

use std::path::PathBuf;

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use url::Url;

use crate::store::error::StoreError;
use crate::store::secrets;

/// What an address leads to.
pub(super) struct Opened {
    pub(super) store: Box<dyn ObjectStore>,
    pub(super) prefix: Key,
    pub(super) url: Url,
    pub(super) dir: Option<PathBuf>,
}

/// The forms of an address that this build takes.
const FORMS: &str = match (cfg!(feature = "azure"), cfg!(feature = "gcs")) {
    (false, false) => "file:///DIR or s3://BUCKET/PREFIX",
    (true, false) => "file:///DIR, s3://BUCKET/PREFIX or az://CONTAINER/PREFIX",
    (false, true) => "file:///DIR, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX",
    (true, true) => "file:///DIR, s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX",
};

pub(super) fn open(address: &str) -> Result<Opened, StoreError> {
    let invalid = |why: &dyn std::fmt::Display| {
        // The error of a builder may repeat the address.
        let text =
            format!("`{}` is not a store: {why}; expected {FORMS}", secrets::without_credentials(address));
        StoreError::new(secrets::hide(&text))
    };
    let url = Url::parse(address).map_err(|error| invalid(&error))?;
    if secrets::has_credentials(&url) {
        let text = "an address is in `ps` and in logs, so it has no key; help: give keys in the environment";
        return Err(invalid(&text));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(&"it has a `?` or `#`; help: write them as %3F and %23"));
    }
    let store: Box<dyn ObjectStore> = match url.scheme() {
        "file" => {
            let dir = url.to_file_path().map_err(|()| invalid(&"the path is not absolute"))?;
            let wrong =
                |error: &dyn std::fmt::Display| StoreError::new(format!("{}: {error}", dir.display()));
            std::fs::create_dir_all(&dir).map_err(|error| wrong(&error))?;
            let store = LocalFileSystem::new_with_prefix(&dir).map_err(|error| wrong(&error))?;
            let store = Box::new(store.with_fsync(true));
            return Ok(Opened { store, prefix: Key::default(), url, dir: Some(dir) });
        }
        "s3" => {
            let builder = AmazonS3Builder::from_env().with_url(address);
            Box::new(builder.build().map_err(|error| invalid(&error))?)
        }
        #[cfg(feature = "azure")]
        "az" => {
            let builder = object_store::azure::MicrosoftAzureBuilder::from_env().with_url(address);
            Box::new(builder.build().map_err(|error| invalid(&error))?)
        }
        #[cfg(not(feature = "azure"))]
        "az" => return Err(invalid(&absent("Azure", "azure"))),
        #[cfg(feature = "gcs")]
        "gs" => {
            let builder = object_store::gcp::GoogleCloudStorageBuilder::from_env().with_url(address);
            Box::new(builder.build().map_err(|error| invalid(&error))?)
        }
        #[cfg(not(feature = "gcs"))]
        "gs" => return Err(invalid(&absent("Google Cloud Storage", "gcs"))),
        other => return Err(invalid(&format!("the scheme `{other}` is unknown"))),
    };
    let prefix = Key::from_url_path(url.path()).map_err(|error| invalid(&error))?;
    Ok(Opened { store, prefix, url, dir: None })
}

/// Says that a build has no client of a store.
#[cfg(not(all(feature = "azure", feature = "gcs")))]
fn absent(store: &str, feature: &str) -> String {
    format!("this build has no client of {store}; help: install it with `--features {feature}`")
}
