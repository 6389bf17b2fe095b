'use strict';
// Shows changes of a page at once. Without it, the page shows them when it is loaded again.
(() => {
  const status = document.getElementById('live');
  let shown = document.body.dataset.print;
  let loading = false;
  let next = null;

  // refresh loads the page again and replaces its content; what is unfolded stays so.
  function refresh(print) {
    if (loading) {
      next = print;
      return;
    }
    loading = true;
    const request = new XMLHttpRequest();
    request.open('GET', location.href);
    request.responseType = 'document';
    request.onloadend = () => {
      loading = false;
      const main = request.response?.querySelector('main');
      if (request.status === 200 && main) {
        const open = new Set([...document.querySelectorAll('details[open]')].map((d) => d.dataset.name));
        for (const d of main.querySelectorAll('details')) d.open = open.has(d.dataset.name);
        for (const field of document.querySelectorAll('main input[id]')) {
          const same = main.querySelector('#' + CSS.escape(field.id));
          if (same && same.type !== 'hidden') [same.value, same.checked] = [field.value, field.checked];
        }
        const focused = document.activeElement?.id;
        document.querySelector('main').replaceWith(document.adoptNode(main));
        if (focused) document.getElementById(focused)?.focus();
        shown = request.response.body.dataset.print ?? print;
        status.textContent = 'Updated at ' + new Date().toLocaleTimeString() + '.';
        if (!request.response.body.dataset.events) source.close();
      } else {
        status.textContent = 'The page could not be updated. Load it again.';
      }
      if (next && next !== shown) refresh(next);
      next = null;
    };
    request.send();
  }

  const source = new EventSource(document.body.dataset.events);
  source.onopen = () => { status.textContent = 'Changes are shown at once.'; };
  source.onmessage = (event) => { if (event.data !== shown) refresh(event.data); };
  source.onerror = () => { status.textContent = 'The connection was lost. What you see may be old.'; };
})();
