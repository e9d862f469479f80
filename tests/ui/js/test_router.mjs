import assert from 'node:assert/strict';
import { test } from 'node:test';
import { find, link } from '../../../riverrun/ui/core/router.js';

const PAGES = [
  { path: '/', title: 'Jobs', view: () => null },
  { path: '/jobs/:job', title: 'Job', view: () => null },
  { path: '/jobs/:job/vertices/:vertex', title: 'Vertex', view: () => null },
];

test('a page is found by its address, with the names in it', () => {
  const found = find(PAGES, '#/jobs/1a/vertices/2b?tab=log');
  assert.equal(found?.page.title, 'Vertex');
  assert.deepEqual(found?.names, { job: '1a', vertex: '2b' });
  assert.equal(found?.query.get('tab'), 'log');
});

test('the empty address is the first page; one that is too short, too long or not decodable is none', () => {
  assert.equal(find(PAGES, '')?.page.title, 'Jobs');
  for (const address of ['#/jobs', '#/jobs/1/2', '#/jobs/%E0%A4%A']) assert.equal(find(PAGES, address), null);
});

test('a query keeps what stands after a second question mark', () => {
  assert.equal(find(PAGES, '#/?search=what?')?.query.get('search'), 'what?');
});

test('links keep any name whole', () => {
  const odd = 'a/b c?d#e%';
  const found = find(PAGES, link('/jobs', odd, { file: 'x&y=z', none: undefined }));
  assert.deepEqual(found?.names, { job: odd });
  assert.equal(found?.query.get('file'), 'x&y=z');
  assert.equal(found?.query.has('none'), false);
});
