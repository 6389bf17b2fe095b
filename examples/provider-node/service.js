#!/usr/bin/env node
'use strict';
/*
A small HTTP service of short links, which keeps them in memory:

    LINKS_TOKEN=secret node service.js --port 8080

POST /links, GET, PATCH and DELETE /links/ID, GET /links?slug=…&prefix=…, all with "Authorization: Bearer TOKEN"; GET /SLUG redirects.
With --port 0 it takes any port, and says which; with --until-eof it ends with its standard input.
*/
const http = require('node:http');
const { randomBytes } = require('node:crypto');

const token = process.env.LINKS_TOKEN ?? '';
const links = new Map();
let next = 1;

class Refused extends Error {
  constructor(status, message, field) {
    super(message);
    Object.assign(this, { status, field });
  }
}

function changed(link, { target = link.target, title = link.title }) {
  let url;
  try { url = new URL(target); } catch { throw new Refused(400, `${target} is no address`, 'target'); }
  if (url.host === 'blocked.example') throw new Refused(400, 'links to blocked.example are not allowed', 'target');
  return Object.assign(link, { target, title, revision: link.revision + 1 });
}

function create({ slug = randomBytes(4).toString('hex'), ...rest }) {
  if ([...links.values()].some((l) => l.slug === slug)) throw new Refused(409, `the link ${slug} exists already`, 'slug');
  const link = changed({ id: String(next++), slug, target: undefined, title: '', revision: 0 }, rest);
  links.set(link.id, link);
  return link;
}

/** Returns the response of the service: a status and a value. */
function answer(method, url, body) {
  const [, root, id] = url.pathname.split('/');
  if (root !== 'links') return [404];
  if (!id && method === 'POST') return [201, create(body)];
  if (!id) {
    const { slug, prefix = '' } = Object.fromEntries(url.searchParams);
    const found = [...links.values()].filter((l) => l.slug.startsWith(prefix) && (slug === undefined || l.slug === slug));
    return [200, found.sort((a, b) => (a.slug < b.slug ? -1 : 1))];
  }
  const link = links.get(id);
  if (!link) return [404];
  if (method === 'PATCH') return [200, changed(link, body)];
  if (method === 'DELETE') links.delete(id);
  return [200, link];
}

const server = http.createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const send = (status, value = {}) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  try {
    const short = [...links.values()].find((l) => request.method === 'GET' && url.pathname === '/' + l.slug);
    if (short) return response.writeHead(302, { location: short.target }).end();
    if (request.headers.authorization !== `Bearer ${token}`) throw new Refused(401, 'the token is not the right one');
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    return send(...answer(request.method, url, text && JSON.parse(text)));
  } catch (e) {
    return send(e.status ?? 400, { error: e.message, field: e.field });
  }
});

const option = process.argv.indexOf('--port');
server.listen(option < 0 ? 8080 : Number(process.argv[option + 1]), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
if (process.argv.includes('--until-eof')) process.stdin.resume().on('end', () => process.exit(0));
