// One executor: tasks, memory, logs, threads.

import { html } from '../core/view.js';

export function TaskManager() {
  return html`<p class="muted">One executor: tasks, memory, logs, threads.</p>`;
}
