// SPDX-License-Identifier: MIT
// main.js - functions of JavaScript that make buffers, in code that V8 compiles.
const make = require('./addon.node');

class Model {
  step() {
    make();
  }
}

function train(model) {
  model.step();
}

function load() {
  make();
}

train(new Model());
if (process.argv[2] !== 'once')
  load();
