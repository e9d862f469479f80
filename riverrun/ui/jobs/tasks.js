// Tasks by state: a stacked bar with its words.

import { html } from '../core/view.js';
import { tasksByState, tasksInWords } from './glance.js';

/** @param {{tasks: Record<string, number>}} props */
export function Tasks({ tasks }) {
  return html`<span class="tasks">
    <span class="task-bar" aria-hidden="true">
      ${tasksByState(tasks).map(({ state, tone, share }) => html`<span key=${state} class=${tone} style=${{ width: `${share * 100}%` }}></span>`)}
    </span>
    <span class="task-words">${tasksInWords(tasks)}</span>
  </span>`;
}
