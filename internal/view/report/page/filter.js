// The filter of the list of changes, and its rows.

// changes are the indices of the objects in the list: all that change, or those of a state.
let changes;

const isChange = (o) => (data.kind === 'state' ? true : Boolean(o.f) && o.f !== 'move');

function emptyFilter() {
  return { text: '', fates: new Set(), type: '', module: null, provider: '', outcome: '', group: 'module' };
}

// matching returns the objects that the filter leaves.
function matching() {
  const f = state.filter;
  const words = f.text.toLowerCase().split(/\s+/).filter(Boolean);
  return changes.filter((i) => {
    const o = data.objects[i];
    if (f.fates.size && !f.fates.has(o.f)) return false;
    if (f.type && o.t !== f.type || f.provider && o.p !== f.provider || f.outcome && o.o !== f.outcome) return false;
    if (f.module !== null && !((o.m ?? '') === f.module || f.module && (o.m ?? '').startsWith(f.module + '.'))) return false;
    if (!words.length) return true;
    const text = (o.a + ' ' + (o.w ?? '') + ' ' + (o.h ?? '')).toLowerCase();
    return words.every((w) => text.includes(w) || o.d && plainBody(o.d).includes(w));
  });
}

// folded makes rows of objects: instances of one block to which the same happens share one.
function folded(list) {
  const rows = [];
  for (const i of list) {
    const o = data.objects[i];
    const last = rows[rows.length - 1];
    const first = last && data.objects[last[0]];
    if (first && o.a !== o.b && first.a !== first.b && first.b === o.b && first.d === o.d && first.f === o.f &&
      first.s === o.s && (first.w ?? '') === (o.w ?? '') && first.o === o.o && first.x === o.x &&
      String(first.r) === String(o.r) && o.f !== 'import') {
      last.push(i);
    } else {
      rows.push([i]);
    }
  }
  return rows;
}

// grouped puts rows under headings.
function grouped(rows) {
  const names = {
    module: (o) => o.m ?? '',
    action: (o) => o.f ?? '',
    type: (o) => o.t,
    provider: (o) => o.p,
    none: () => '',
  };
  const name = names[state.filter.group];
  const groups = new Map();
  for (const row of rows) {
    const key = name(data.objects[row[0]]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const order = Object.keys(fates);
  const sorted = [...groups];
  if (state.filter.group === 'action') sorted.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  else sorted.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  return sorted;
}

// values lists what objects have in a field, most frequent first.
function values(field) {
  const found = new Map();
  for (const i of changes) {
    const v = data.objects[i][field] ?? '';
    found.set(v, (found.get(v) ?? 0) + 1);
  }
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

// choice is a list to choose from. A short one says how many objects each choice has.
function choice(label, value, options, onchange) {
  const select = el('select', { onchange: () => onchange(select.value) },
    options.map(([v, text]) => el('option', { value: v, selected: v === value }, text)));
  return el('label', { class: 'choice' }, el('span', {}, label), select);
}

const mostChoices = 500;

// toolbar has the controls of the filter.
function toolbar() {
  const f = state.filter;
  const set = (name) => (value) => {
    state.filter[name] = value;
    update.list();
  };
  const search = el('input', { type: 'search', id: 'search', value: f.text, placeholder: 'Address, reason or value',
    autocomplete: 'off', spellcheck: 'false', oninput: () => set('text')(search.value) });
  const box = el('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' },
    el('label', { class: 'choice wide' }, el('span', {}, 'Search ', el('kbd', { 'aria-hidden': 'true' }, '/')), search));
  const counts = new Map(values('f'));
  const present = Object.keys(fates).filter((k) => counts.has(k));
  if (present.length > 1) {
    box.append(el('div', { class: 'chips', role: 'group', 'aria-label': 'Actions' }, present.map((k) => {
      const chip = button([badge(k, true), el('b', {}, counts.get(k).toLocaleString('en'))], () => {
        f.fates.has(k) ? f.fates.delete(k) : f.fates.add(k);
        chip.setAttribute('aria-pressed', f.fates.has(k));
        update.list();
      }, { class: 'chip', 'aria-pressed': String(f.fates.has(k)) });
      return chip;
    })));
  }
  const named = (list, none) => list.slice(0, mostChoices).map(([v, n]) => [v, `${v || none} (${n.toLocaleString('en')})`]);
  const modules = values('m').sort((a, b) => (a[0] < b[0] ? -1 : 1));
  if (modules.length > 1) {
    box.append(choice('Module', f.module === null ? '*' : f.module, [['*', 'all'], ...named(modules, 'root module')],
      (v) => set('module')(v === '*' ? null : v)));
  }
  for (const [label, field, name] of [['Type', 't', 'type'], ['Provider', 'p', 'provider'], ['Outcome', 'o', 'outcome']]) {
    const list = values(field).filter(([v]) => v);
    if (list.length > 1) box.append(choice(label, f[name], [['', 'all'], ...named(list, '')], set(name)));
  }
  box.append(choice('Group by', f.group, [['module', 'module'], ...(data.kind === 'state' ? [] : [['action', 'action']]),
    ['type', 'type'], ['provider', 'provider'], ['none', 'nothing']], set('group')));
  return box;
}
