// Upload a program, look at its plan, run it.

import { html } from '../core/view.js';

export function Submit() {
  return html`<p class="muted">Upload a program, look at its plan, run it.</p>`;
}
