// What the threads of a process do: taken on demand, folded thread by thread, searched.

import { html, useEffect, useMemo, useState } from '../core/view.js';
import { get } from '../core/api.js';
import { clock, exact } from '../core/format.js';
import { Filter, hasWords } from '../parts/filter.js';
import { Notice } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { doing, threadsIn } from './stacks.js';

const PATIENCE_MS = 30_000;
const SHOWN = 100;

/** @typedef {{infos: any[], at: number}} Dump */

/** @param {{path: string, what: string}} props path: where the dump is taken; what: whose threads */
export function Threads({ path, what }) {
  const [dump, setDump] = useState(/** @type {Dump | null} */ (null));
  const [problem, setProblem] = useState('');
  const [taking, setTaking] = useState(false);
  const [words, setWords] = useState('');
  const [shown, setShown] = useState(SHOWN);
  const take = async () => {
    setTaking(true);
    setProblem('');
    try {
      const { threadInfos } = await get(path, { patience: PATIENCE_MS });
      setDump({ infos: threadInfos, at: Date.now() });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setTaking(false);
  };
  useEffect(() => void take(), [path]);
  const threads = useMemo(() => threadsIn(dump?.infos ?? []), [dump]);
  const found = useMemo(() => (words ? threads.filter((thread) => hasWords(thread.text, words)) : threads), [threads, words]);
  const tools = html`<span class="muted" role="status">${taking ? 'Asking …' : dump ? `taken at ${clock(dump.at)}` : ''}</span>
    <button type="button" class="button" disabled=${taking} onClick=${take}>Take again</button>`;
  return html`<${Panel} title=${`Threads of ${what}`} tools=${tools} flush=${true}>
    ${problem && html`<${Notice} tone="wait">The threads cannot be shown now: ${problem}<//>`}
    ${dump && html`
      <${Filter} label="Find a thread, a function or a file" words=${words} change=${setWords}
        note=${words ? `${exact(found.length)} of ${exact(threads.length)} threads` : `${exact(threads.length)} threads`} />
      <ul class="threads" aria-label="Threads">
        ${found.slice(0, shown).map((thread) => html`<${OneThread} key=${thread.key} thread=${thread} />`)}
      </ul>
      ${found.length > shown && html`<p class="filter"><button type="button" class="button" onClick=${() => setShown(shown + SHOWN)}>Show more threads</button></p>`}`}
  <//>`;
}

/** @param {{thread: import('./stacks.js').Thread}} props */
function OneThread({ thread }) {
  const [open, setOpen] = useState(false);
  return html`<li><details onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}>
    <summary><strong>${thread.name}</strong> <span class="muted mono">${doing(thread)}</span></summary>
    ${open && html`<p class="muted">${thread.facts}</p><ol class="thread-calls">
      ${thread.frames.map((frame, at) => html`<li key=${at}><code>${frame.call}</code> <span class="muted mono">${frame.file}:${frame.line}</span></li>`)}
    </ol>`}
  </details></li>`;
}
