#!/usr/bin/env node
// Prints a pprof profile as folded text, with the npm package pprof-format, which is not ours.
//
//   node pprof.js PROFILE
//
// The first line has the types of the values. $PPROF_FORMAT names the folder of the package.
'use strict';
const fs = require('fs'), path = require('path'), zlib = require('zlib');
const { Profile } = require(path.join(process.env.PPROF_FORMAT, 'dist/commonjs/index.js'));

const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const text = index => profile.stringTable.strings[Number(index)];
const locations = new Map(profile.location.map(location => [Number(location.id), location]));
const functions = new Map(profile.function.map(one => [Number(one.id), one]));
const name = id => text(functions.get(Number(locations.get(Number(id)).line[0].functionId)).name);
const types = profile.sampleType.map(type => `${text(type.type)}/${text(type.unit)}`);
console.log(`${types.join(' ')} default ${text(profile.defaultSampleType)} at ${profile.timeNanos}`);
for (const sample of profile.sample)
  console.log(`${sample.locationId.map(name).reverse().join(';')} ${sample.value.join(' ')}`);
