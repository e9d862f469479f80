// The file itself. With a token a plain link would be refused, so the page fetches it and hands it over.

import { html, useState } from '../core/view.js';
import { call, token } from '../core/api.js';
import { Notice } from '../parts/notice.js';

/** The server gives no more of a file at once, its end first. */
const MOST_BYTES = 64 << 20;
const PATIENCE_MS = 120_000;

/** @param {{path: string, file: string, size: number}} props */
export function Download({ path, file, size }) {
  const [failure, setFailure] = useState('');
  const label = size > MOST_BYTES ? 'Download the last 64 MiB' : 'Download';
  if (!token.get()) return html`<a class="button" href=${path} download=${file}>${label}</a>`;
  const fetchIt = async () => {
    setFailure('');
    try {
      const response = await call('GET', path, { patience: PATIENCE_MS });
      hand(await response.blob(), file);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return html`<button type="button" class="button" onClick=${fetchIt}>${label}</button>
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
