// Reports of many units: a list of them, from which each report opens. The address of the page names the open one, so
// that the buttons of the browser go back.

let stack; // the document with all units, or undefined

// opened returns the document to show: that of the unit in the address, the only one, or null for the list of units.
function opened(document) {
  if (!document.units) return document;
  stack = document;
  addEventListener('hashchange', () => location.reload());
  const at = /^#unit-(\d+)$/.exec(location.hash);
  return (at && stack.units[Number(at[1])]?.report) || null;
}

const openUnit = (i) => { location.hash = i === null ? '' : '#unit-' + i; };

// back is the way from a report to the list.
function back() {
  return stack && data !== stack && button('All units', () => openUnit(null), { class: 'theme' });
}

function unitRow(unit, i) {
  const bad = unit.phase === 'failed' || unit.phase === 'skipped';
  const name = unit.report ? button(unit.name, () => openUnit(i), { id: 'unit-' + i }) : unit.name;
  return el('tr', {}, el('td', {}, name),
    el('td', {}, el('span', { class: 'outcome ' + (bad ? 'failed' : unit.phase === 'applied' ? 'done' : '') }, unit.phase)),
    el('td', {}, unit.reason ?? '', (unit.notes ?? []).map((n) => el('p', { class: 'sub' }, n))));
}

function overview() {
  data = stack;
  document.title = data.title + ': ' + data.headline;
  const rows = el('tbody');
  growing(rows, data.units, unitRow, 300);
  document.body.replaceChildren(summary(), el('main', {}, el('table', { class: 'units' },
    el('thead', {}, el('tr', {}, ['Unit', 'Phase', 'Details'].map((text) => el('th', { scope: 'col' }, text)))), rows)));
  document.documentElement.dataset.ready = 'true';
}
