// The frame around all pages: navigation, the state of the connection, the page of the address.

import { applyTheme, useTheme } from './core/theme.js';
import { connection, pace, useLive } from './core/live.js';
import { find, link, useHash } from './core/router.js';
import { html, render, useEffect, useErrorBoundary, useRef, useState } from './core/view.js';
import { duration } from './core/format.js';
import { token } from './core/api.js';
import { Notice } from './parts/notice.js';
import { PAGES, NAVIGATION } from './pages/index.js';

function App() {
  const hash = useHash();
  const found = find(PAGES, hash || '#/');
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const path = hash.split('?')[0];
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${found?.page.title ?? 'Not found'} · riverrun`;
    if (!isFirst.current) scrollTo(0, 0);
    // The link that was followed may be gone with its page: who uses the keyboard goes on from here.
    if (!isFirst.current && document.activeElement === document.body) place.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [found?.page]);
  return html`<div class="frame">
    <a class="skip" href=${hash || '#/'} onClick=${() => place.current?.focus()}>Skip to the content</a>
    <${Side} path=${path || '#/'} />
    <main class="page" ref=${place} tabindex="-1">
      <${Outage} />
      ${found
        ? html`<${Guarded} at=${path}>
            <${found.page.view} key=${`${found.page.path} ${found.names.job}`} names=${found.names} query=${found.query} />
          <//>`
        : html`<${Notice} tone="wait">There is no page at this address. <a href=${link('/')}>All jobs</a><//>`}
    </main>
  </div>`;
}

/** A fault of one page is told in its place, and leaves the rest usable. @param {{at: string, children?: any}} props */
function Guarded({ at, children }) {
  const [error, again] = useErrorBoundary((/** @type {unknown} */ error) => console.error(error));
  useEffect(() => {
    if (error) again();
  }, [at]);
  if (!error) return children;
  return html`<${Notice} tone="bad">
    <strong>This page has a fault and cannot be shown</strong>
    <span>${String(error)}</span>
    <button type="button" class="button" onClick=${again}>Try again</button>
  <//>`;
}

/** @param {{path: string}} props */
function Side({ path }) {
  const [theme, nextTheme] = useTheme();
  const { value } = useLive('/config', Infinity);
  if (value) pace.least = value['refresh-interval'];
  const current = NAVIGATION.findLast(({ href }) => path === href || path.startsWith(`${href}/`)) ?? NAVIGATION[0];
  return html`<header class="side">
    <a class="brand" href=${link('/')}><img src="ui/icon.svg" alt="" />riverrun</a>
    <nav aria-label="Pages">
      ${NAVIGATION.map((entry) => html`<a key=${entry.href} href=${entry.href} aria-current=${entry === current ? 'page' : undefined}>${entry.title}</a>`)}
    </nav>
    <div class="below">
      <button type="button" class="button" onClick=${nextTheme} aria-label=${`${theme} colours, change`}>${theme} colours</button>
      <span class="version">${value ? `riverrun ${value['flink-version']}` : ''}</span>
    </div>
  </header>`;
}

/** Says that the JobManager is away, for how long, and when it is back. */
function Outage() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const tell = () => redraw((n) => n + 1);
    connection.watchers.add(tell);
    const timer = setInterval(() => connection.problem && tell(), 1000);
    return () => {
      connection.watchers.delete(tell);
      clearInterval(timer);
    };
  }, []);
  const { problem, last } = connection;
  if (!problem) return null;
  if (problem.kind === 'denied') return html`<${TokenForm} />`;
  const since = last ? `for ${duration(Date.now() - last)}` : 'since this page was opened';
  return html`<div class="outage"><${Notice} tone="bad">
    <strong>The JobManager has not answered ${since}</strong>
    <span>${problem.message}. What is shown may be out of date; it is asked again by itself.</span>
  <//></div>`;
}

function TokenForm() {
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    token.set(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('token')));
    location.reload();
  };
  return html`<${Notice} tone="wait">
    <form onSubmit=${submit} class="buttons">
      <label class="field"><span>${token.get() ? 'The token was not accepted; this JobManager asks for another' : 'This JobManager asks for a token'} (riverrun.rest.token)</span>
        <input name="token" type="password" autocomplete="current-password" required /></label>
      <button class="button primary">Use it</button>
    </form>
  <//>`;
}

applyTheme();
const root = document.getElementById('app');
if (root) {
  root.replaceChildren();
  render(html`<${App} />`, root);
}
