// An answer of the REST interface as a file. With a token a plain link would be refused, so the page fetches
// it and hands it over.

import { html, useState } from '../core/view.js';
import { call } from '../core/api.js';
import { Notice } from './notice.js';

/** @param {{path: string, name: string, label: string, patience?: number}} props patience: milliseconds */
export function Download({ path, name, label, patience }) {
  const [failure, setFailure] = useState('');
  const keep = async () => {
    setFailure('');
    try {
      hand(await (await call('GET', path, { patience })).blob(), name);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return html`<button type="button" class="button" onClick=${keep}>${label}</button>
    ${failure && html`<${Notice} tone="bad">Not downloaded: ${failure}<//>`}`;
}

/** @param {Blob} content @param {string} name */
function hand(content, name) {
  const href = URL.createObjectURL(content);
  const anchor = document.createElement('a');
  anchor.href = href;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(href);
}
