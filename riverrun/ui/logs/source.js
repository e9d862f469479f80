// Parts of a log file, from the REST interface.

import { call } from '../core/api.js';

/** @param {string} root '/jobmanager' or '/taskmanagers/<id>' @param {string} file */
export function pathOf(root, file) {
  return `${root}/logs/${encodeURIComponent(file)}`;
}

/** @param {string} path @returns {import('./reader.js').Read} */
export function partsOf(path) {
  return async (part) => {
    const query = new URLSearchParams(Object.entries(part).map(([name, value]) => [name, String(value)]));
    const response = await call('GET', `${path}?${query}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { bytes, start: numberIn(response, 'X-Log-Start'), size: numberIn(response, 'X-Log-Size') };
  };
}

/** @param {Response} response @param {string} header */
function numberIn(response, header) {
  const value = response.headers.get(header);
  if (value === null) throw new Error(`the answer does not say ${header}: something changed it on its way`);
  return Number(value);
}
