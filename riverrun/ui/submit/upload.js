// Sends a file, and tells how far it is: fetch cannot.

import { Problem, token } from '../core/api.js';

/**
 * @param {File} file
 * @param {(share: number) => void} progress
 * @returns {Promise<string>} the id under which the program is kept
 */
export function upload(file, progress) {
  const form = new FormData();
  form.set('jarfile', file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/jars/upload');
    const secret = token.get();
    if (secret) request.setRequestHeader('Authorization', `Bearer ${secret}`);
    request.upload.addEventListener('progress', (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener('error', () => reject(new Problem('away', 'the JobManager did not take the file; it may be away, or the file too large')));
    request.addEventListener('load', () => {
      try {
        resolve(programIn(request.status, request.responseText));
      } catch (error) {
        reject(error);
      }
    });
    request.send(form);
  });
}

/** @param {number} status @param {string} text */
function programIn(status, text) {
  const answer = answered(text);
  if (status !== 200 || typeof answer.filename !== 'string') {
    const words = Array.isArray(answer.errors) ? answer.errors.join('\n') : text;
    throw new Problem('refused', words || `the JobManager answered ${status}`, status);
  }
  return answer.filename.split('/').at(-1) ?? '';
}

/** @param {string} text @returns {any} */
function answered(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
