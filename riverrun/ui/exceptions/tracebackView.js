// A traceback to read: the user's own frames stand out, those of the engine and of libraries are folded.

import { html, classes } from '../core/view.js';
import { blamed, runsOf, sectionsOf } from './traceback.js';

/** @type {Record<string, string>} */
const RELATIONS = { '': '', cause: 'Directly caused by', context: 'Raised while this was being handled' };

/** @param {{text: string, said: string}} props said: what stands above it already */
export function Traceback({ text, said }) {
  const sections = sectionsOf(text);
  if (!sections) return html`<pre class="traceback-text" tabindex="0" aria-label="What was raised">${text}</pre>`;
  return html`<div class="traceback">
    ${sections.map((section, at) => html`<${Section} key=${at} section=${section} said=${said} />`)}
  </div>`;
}

/** @param {{section: import('./traceback.js').Section, said: string}} props */
function Section({ section, said }) {
  const pointed = blamed(section.frames);
  return html`<section>
    ${section.relation && html`<h3>${RELATIONS[section.relation]}</h3>`}
    ${section.message !== said && html`<pre class="raised">${section.message}</pre>`}
    ${runsOf(section.frames).map((run, at) => {
      const frames = html`<ol class="frames">${run.frames.map((frame, place) => html`<${Frame} key=${place} frame=${frame} own=${run.own} pointed=${frame === pointed} />`)}</ol>`;
      return run.own
        ? html`<div key=${at}>${frames}</div>`
        : html`<details key=${at} class="folded"><summary>${run.frames.length === 1 ? 'One frame' : `${run.frames.length} frames`} of the engine and of libraries</summary>${frames}</details>`;
    })}
  </section>`;
}

/** @param {{frame: import('./traceback.js').Frame, own: boolean, pointed: boolean}} props */
function Frame({ frame, own, pointed }) {
  return html`<li class=${classes('code-frame', own && 'own', pointed && 'pointed')}>
    <p class="mono">${frame.file}<strong>:${frame.line}</strong>${frame.name && html` in <strong>${frame.name}</strong>`}${pointed && html` <span class="badge bad">here</span>`}</p>
    ${frame.code.length > 0 && html`<pre>${frame.code.join('\n')}</pre>`}
  </li>`;
}
