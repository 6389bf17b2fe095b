// What all parts of the page use: elements, the texts of differences, the objects of the document.

let data; // the document, see document.go
let state; // of the page: the filter, the open tab
let update; // shows a change of the state

// el makes an element. Properties that begin with "on" are listeners, the others attributes; null and false are none.
function el(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ''));
  return e;
}

function button(text, onclick, properties) {
  return el('button', { type: 'button', onclick, ...properties }, text);
}

// fates are the words of what becomes of an object, in the order of their danger: sign, label, class of the colour.
const fates = {
  destroy: ['\u2212', 'destroy', 'del'],
  replace: ['\u00b1', 'replace', 'rep'],
  forget: ['.', 'forget', 'fgt'],
  update: ['~', 'update', 'chg'],
  create: ['+', 'create', 'add'],
  import: ['\u2913', 'import', 'oth'],
  move: ['\u2192', 'move', 'oth'],
  read: ['\u2264', 'read', 'oth'],
  changed: ['~', 'changed outside', 'chg'],
  gone: ['\u2212', 'gone', 'del'],
};

const fateClass = (fate) => (fates[fate] ?? ['', '', 'non'])[2];

// badge shows a fate by its sign and, for those who do not see it, by its word.
function badge(fate, word) {
  const [sign, label] = fates[fate] ?? ['\u00b7', 'no change'];
  return el('span', { class: 'badge ' + fateClass(fate) },
    el('span', { 'aria-hidden': 'true' }, sign), el('span', { class: word ? null : 'unseen' }, ' ' + label));
}

const outcomes = { done: 'done', failed: 'failed', half: 'half done', untried: 'not tried' };

function outcome(o) {
  return o && el('span', { class: 'outcome ' + o }, outcomes[o]);
}

const plural = (n, what) => n.toLocaleString('en') + ' ' + what + (n === 1 ? '' : 's');

const colours = { 1: 'b', 4: 'u', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan', 90: 'gray' };

// block makes a difference of its text, in which colours are escape sequences as for a terminal.
function block(text) {
  const pre = el('pre', { class: 'diff' });
  let classes = [];
  for (const line of text.split('\n')) {
    const plain = line.replace(/\x1b\[\d+m/g, '');
    const sign = /^\s*(-\/\+|\+\/-|\.\/\+|[-+~.]|<=)\s/.exec(plain);
    const kind = !sign || sign[1] === '~' && /[[{(]$/.test(plain) ? '' : { '+': ' add', '-': ' del', '~': ' chg' }[sign[1]] ?? '';
    const row = el('span', { class: 'line' + kind });
    const parts = line.split(/\x1b\[(\d+)m/);
    for (let i = 0; i < parts.length; i++) {
      if (i % 2) {
        classes = parts[i] === '0' ? [] : [...classes, colours[parts[i]]];
      } else if (parts[i]) {
        row.append(classes.length ? el('span', { class: classes.join(' ') }, parts[i]) : parts[i]);
      }
    }
    row.append('\n');
    pre.append(row);
  }
  return pre;
}

// plainBody returns a block as text to search in.
const plainBodies = [];
function plainBody(index) {
  plainBodies[index] ??= data.bodies[index - 1].replace(/\x1b\[\d+m/g, '').toLowerCase();
  return plainBodies[index];
}

// growing shows a long list in portions: the rest when the reader comes near its end or asks for it. It returns a
// function that shows all up to an item. The first portion fills a window; it is small, because every key in the search
// makes it again.
function growing(parent, items, make, first = 50) {
  const portion = Math.max(first, 150);
  let shown = 0;
  const more = button('', () => grow(), { class: 'more' });
  const holder = { UL: () => el('li', { class: 'bare' }, more), OL: () => el('li', { class: 'bare' }, more),
    TBODY: () => el('tr', {}, el('td', { colspan: '4' }, more)) }[parent.tagName]?.() ?? more;
  const watcher = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && grow(),
    { rootMargin: '800px' });
  function grow(until = shown + portion) {
    const piece = document.createDocumentFragment();
    for (; shown < Math.min(until, items.length); shown++) piece.append(make(items[shown], shown));
    holder.remove();
    watcher.disconnect();
    parent.append(piece);
    if (shown < items.length) {
      more.textContent = 'Show more of ' + (items.length - shown).toLocaleString('en');
      parent.append(holder);
      watcher.observe(more);
    }
  }
  grow(first);
  return (i) => i >= shown && grow(i + 20);
}

// keys writes the instances of one block: web[0..4], or web["a"], ["b"] and 3 more.
function keys(list) {
  const parts = [];
  for (let i = 0; i < list.length; ) {
    let last = i;
    const from = /^\[(\d+)\]$/.exec(list[i]);
    while (from && list[last + 1] === '[' + (Number(from[1]) + last + 1 - i) + ']') last++;
    if (parts.length === 3) return parts.join(', ') + ' and ' + (list.length - i).toLocaleString('en') + ' more';
    parts.push(last > i ? '[' + from[1] + '..' + (Number(from[1]) + last - i) + ']' : list[i]);
    i = last + 1;
  }
  return parts.join(', ');
}

// say tells people with a screen reader what has happened.
function say(text) {
  document.getElementById('said').textContent = text;
}

// time writes a number of milliseconds.
function time(ms) {
  if (ms < 1000) return ms + ' ms';
  if (ms < 60000) return (ms / 1000).toFixed(ms < 10000 ? 1 : 0) + ' s';
  return Math.floor(ms / 60000) + ' min ' + Math.round((ms % 60000) / 1000) + ' s';
}
