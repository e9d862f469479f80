// How a program is to be run.

import { html, useId } from '../core/view.js';
import { shellWords } from './arguments.js';
import { isArchive, problemsOf } from './order.js';

/** @typedef {import('./order.js').Fields} Fields */

/** @param {{program: string, fields: Fields, change: (changed: Partial<Fields>) => void}} props program: its file name */
export function OrderForm({ program, fields, change }) {
  const problems = problemsOf(fields);
  const text = (/** @type {'arguments' | 'module' | 'parallelism' | 'savepoint'} */ name) => ({
    name, value: fields[name], problem: problems[name], change: (/** @type {string} */ value) => change({ [name]: value }),
  });
  return html`<div class="order">
    <${Text} ...${text('arguments')} label="Arguments" wide=${true} note=${html`<${Words} text=${fields.arguments} />`} />
    ${isArchive(program) && html`<${Text} ...${text('module')} label="Module" note="Which module of the archive is the program. Empty: __main__" />`}
    <${Text} ...${text('parallelism')} label="Parallelism" mode="numeric" note="Empty: what the program or the JobManager says." />
    <${Text} ...${text('savepoint')} label="Start from a savepoint or checkpoint" wide=${true} note="Its path. Empty: start anew." />
    ${fields.savepoint.trim() && html`<${Restore} fields=${fields} change=${change} />`}
    <label class="field wide"><span>Settings</span>
      <textarea rows="3" spellcheck="false" placeholder="execution.checkpointing.interval=10s" aria-invalid=${Boolean(problems.settings)}
        value=${fields.settings} onInput=${(/** @type {any} */ event) => change({ settings: event.target.value })}></textarea>
      <small class=${problems.settings && 'bad-words'}>${problems.settings ?? 'One key=value on a line, for this job alone.'}</small></label>
  </div>`;
}

/** @param {{name: string, label: string, value: string, problem?: string, change: (value: string) => void, mode?: string, wide?: boolean, note: any}} props */
function Text({ name, label, value, problem, change, mode, wide, note }) {
  const id = useId();
  return html`<div class=${wide ? 'field wide' : 'field'}>
    <label for=${id}>${label}</label>
    <input id=${id} name=${name} value=${value} inputmode=${mode} autocomplete="off" spellcheck="false" aria-invalid=${Boolean(problem)} aria-describedby=${`${id}-note`}
      onInput=${(/** @type {any} */ event) => change(event.target.value)} />
    <small id=${`${id}-note`} class=${problem && 'bad-words'}>${problem ?? note}</small>
  </div>`;
}

/** What the program gets, so that quotes can be checked. @param {{text: string}} props */
function Words({ text }) {
  const { words } = shellWords(text);
  if (words.length === 0) return 'Split as a shell does; the program gets none.';
  return html`The program gets ${words.map((word, at) => html`<code key=${at} class="word">${word || ' '}</code>`)}`;
}

/** @param {{fields: Fields, change: (changed: Partial<Fields>) => void}} props */
function Restore({ fields, change }) {
  return html`
    <label class="field"><span>Whose it is afterwards</span>
      <select value=${fields.claimMode} onChange=${(/** @type {any} */ event) => change({ claimMode: event.target.value })}>
        <option value="NO_CLAIM">it stays as it is (no claim)</option>
        <option value="CLAIM">the job may delete it (claim)</option>
      </select>
      <small>A claimed one is deleted once newer checkpoints take its place.</small></label>
    <label class="check wide"><input type="checkbox" checked=${fields.allowNonRestored}
      onChange=${(/** @type {any} */ event) => change({ allowNonRestored: event.target.checked })} />
      <span>Go on when some of its state belongs to no operator of the program; that state is lost.</span></label>`;
}
