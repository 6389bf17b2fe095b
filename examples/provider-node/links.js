'use strict';
// A provider for the links of service.js: the actions of its types, over HTTP.
const tombolo = require('./tombolo.js');

/** Sends one request to the service. It returns null for missing objects. */
async function ask(call, method, path, body) {
  const address = call.provider.url ?? process.env.LINKS_URL;
  if (!address) throw new tombolo.ProviderError('No service', { detail: 'Set url in the provider block, or LINKS_URL.' });
  const request = {
    method, signal: call.signal, body: body && JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${call.provider.token ?? process.env.LINKS_TOKEN ?? ''}` },
  };
  let response, answer;
  try {
    response = await fetch(new URL(path, address), request);
    answer = await response.json();
  } catch (e) {
    if (call.signal.aborted) throw e;
    throw new tombolo.ProviderError('The service does not answer', { detail: `${address}: ${e.cause?.message || e.message}` });
  }
  if (response.status === 404) return null;
  if (response.status === 503) throw new tombolo.Temporary('The service is busy');
  if (!response.ok) {
    throw new tombolo.ProviderError('The service refused', { detail: `${method} ${path}: ${answer.error}.`, attribute: answer.field && [answer.field] });
  }
  return answer;
}

/** Returns the attributes of a link: those from the service, and its short address. */
function attributes(call, link) {
  return link && { ...link, short_url: new URL(link.slug, call.provider.url ?? process.env.LINKS_URL).href };
}

const place = (object) => `/links/${encodeURIComponent(object.id)}`;

class Link extends tombolo.Resource {
  async create(call) {
    const { slug, target, title } = call.planned;
    return attributes(call, await ask(call, 'POST', '/links', { slug: slug ?? undefined, target, title }));
  }

  async read(call) {
    return attributes(call, await ask(call, 'GET', place(call.state)));
  }

  async update(call) {
    const { target, title } = call.planned;
    const link = await ask(call, 'PATCH', place(call.prior), { target, title });
    if (!link) throw new tombolo.ProviderError('The link is gone', { detail: `Somebody removed ${call.prior.slug} since it was read.` });
    return attributes(call, link);
  }

  async delete(call) {
    await ask(call, 'DELETE', place(call.state));
  }

  /** The id for users is the slug; the identity is the number. */
  async import(call) {
    if (call.identity) return attributes(call, await ask(call, 'GET', place(call.identity)));
    const [link] = await ask(call, 'GET', `/links?slug=${encodeURIComponent(call.id)}`);
    return attributes(call, link ?? null);
  }

  /** Returns all links whose names have a prefix, managed or not. */
  async list(call) {
    const links = await ask(call, 'GET', `/links?prefix=${encodeURIComponent(call.config.prefix)}`);
    return links.slice(0, call.limit).map((link) => ({
      identity: { id: link.id }, display_name: `${link.slug} -> ${link.target}`, object: call.include_object ? attributes(call, link) : undefined,
    }));
  }
}

/** Requests short addresses once, so that caches store them. */
class Warm extends tombolo.Action {
  async invoke(call) {
    const links = await ask(call, 'GET', `/links?prefix=${encodeURIComponent(call.config.prefix)}`);
    for (const [i, link] of links.entries()) {
      await fetch(attributes(call, link).short_url, { redirect: 'manual', signal: call.signal });
      call.progress(link.slug, (i + 1) / links.length);
    }
    if (links.length === 0) call.warn('No links', { detail: `No name begins with "${call.config.prefix}".`, attribute: ['prefix'] });
  }
}

class Catalog extends tombolo.DataSource {
  async data(call) {
    const links = await ask(call, 'GET', `/links?prefix=${encodeURIComponent(call.config.prefix)}`);
    return { targets: Object.fromEntries(links.map((l) => [l.slug, l.target])) };
  }
}

tombolo.run({ resources: { links_link: Link }, data: { links_catalog: Catalog }, actions: { links_warm: Warm } });
