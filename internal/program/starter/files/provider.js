'use strict';
const fs = require('node:fs');

const tombolo = require('./tombolo.js');

class File extends tombolo.Resource {
  create(call) {
    fs.writeFileSync(call.planned.path, call.planned.text);
    return this.look(call.planned.path);
  }

  update(call) { return this.create(call); }

  read(call) { return this.look(call.state.path); }

  import(call) { return this.look(call.id); }

  delete(call) { fs.rmSync(call.state.path, { force: true }); }

  look(path) {
    if (!fs.existsSync(path)) return null;
    const text = fs.readFileSync(path, 'utf8');
    return { id: path, path, text, bytes: Buffer.byteLength(text) };
  }
}

const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, '-');

tombolo.run({ resources: { NAME_file: File }, functions: { slug } });
