'use strict';
// Items are JSON files in a folder.
const fs = require('node:fs');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');

const tombolo = require('./tombolo.js');

console.log('what is printed before is no answer');

class Item extends tombolo.Resource {
  path(call, id) { return path.join(call.provider.root, id + '.json'); }

  async validate(call) {
    if (call.config.name === 'bad') throw new tombolo.ProviderError('No such name', { attribute: ['name'] });
  }

  async create(call) {
    const id = randomUUID();
    if (call.planned.slow) {
      call.progress('waiting', 0.5);
      await sleep(call.planned.slow * 1000, null, { signal: call.signal });
    }
    if (call.planned.name === 'half') {
      call.made({ id });
      call.warn('Half is done');
      throw new tombolo.ProviderError('Only half', { detail: 'the other half is missing' });
    }
    console.log('nor during a call');
    call.keep({ made: true });
    return this.store(call, { ...call.planned, id });
  }

  async update(call) {
    if (!call.private || !call.private.made) throw new tombolo.ProviderError('The private data is missing');
    return this.store(call, { ...call.planned });
  }

  store(call, item) {
    item.shout = item.name.toUpperCase();
    fs.writeFileSync(this.path(call, item.id), JSON.stringify(item));
    return item;
  }

  async read(call) {
    try {
      return JSON.parse(fs.readFileSync(this.path(call, call.state.id), 'utf8'));
    } catch (e) {
      if (e.code === 'ENOENT') return null;
      throw e;
    }
  }

  async delete(call) { fs.rmSync(this.path(call, call.state.id), { force: true }); }

  async import(call) { return fs.existsSync(this.path(call, call.id)) ? { id: call.id } : null; }
}

class Count extends tombolo.DataSource {
  data(call) { return { files: fs.readdirSync(call.config.folder).length }; }
}

class Token extends tombolo.Ephemeral {
  open(call) {
    call.keep({ lease: 7 });
    return { token: 't-' + call.config.scope };
  }
  close(call) {
    if (call.private.lease !== 7) throw new tombolo.ProviderError('no lease');
  }
}

tombolo.run({
  resources: { kit_item: Item },
  data: { kit_count: Count },
  ephemeral: { kit_token: Token },
  functions: {
    upper(text) {
      if (text === '') throw new tombolo.ProviderError('it is empty', { argument: 0 });
      return text.toUpperCase();
    },
  },
  configure(call) {
    if (call.provider.root === '') throw new tombolo.ProviderError('There is no root', { attribute: ['root'] });
  },
});
