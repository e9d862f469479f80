// Arguments as a shell splits them, settings, and what is sent for them.

import assert from 'node:assert/strict';
import test from 'node:test';

import { settings, shellWords } from '../../../riverrun/ui/submit/arguments.js';
import { EMPTY, isArchive, planBody, problemsOf, runBody, whyNoProgram } from '../../../riverrun/ui/submit/order.js';

const SPLIT = /** @type {[string, string[]][]} */ ([
  ['', []],
  ['  \n\t ', []],
  ['--rate 20 --name shop', ['--rate', '20', '--name', 'shop']],
  ['--name "slow shop"', ['--name', 'slow shop']],
  ["--name 'it \"is\" so'", ['--name', 'it "is" so']],
  ['a\\ b c', ['a b', 'c']],
  ['"a \\"b\\" \\n"', ['a "b" \\n']],
  ["'a\\b'", ['a\\b']],
  ['"" \'\'', ['', '']],
  ['--x="a b"c', ['--x=a bc']],
  ['$HOME `ls` *', ['$HOME', '`ls`', '*']],
]);

for (const [text, words] of SPLIT) {
  test(`a shell splits ${JSON.stringify(text)} into ${words.length} words`, () => {
    assert.deepEqual(shellWords(text), { words });
  });
}

test('what a shell would wait for is told', () => {
  assert.match(shellWords('a "b').problem ?? '', /not closed/);
  assert.match(shellWords("a 'b").problem ?? '', /not closed/);
  assert.match(shellWords('a \\').problem ?? '', /backslash/);
});

test('settings are lines of key=value', () => {
  assert.deepEqual(settings(' a.b = 1 \n\n# note\nc=x=y\nd='), { config: { 'a.b': '1', c: 'x=y', d: '' } });
  assert.match(settings('a: 1').problem ?? '', /“a: 1” is no setting/);
  assert.match(settings('=1').problem ?? '', /expected key=value/);
});

test('what is not given is not sent', () => {
  assert.deepEqual(runBody(EMPTY, 'shop.py'), { programArgsList: [], flinkConfiguration: {} });
  assert.deepEqual(planBody({ ...EMPTY, arguments: '--x 1', parallelism: ' 4 ', settings: 'a=b', module: 'shop.main' }, 'shop.zip'), {
    programArgsList: ['--x', '1'], flinkConfiguration: { a: 'b' }, entryClass: 'shop.main', parallelism: 4,
  });
  assert.equal('entryClass' in planBody({ ...EMPTY, module: 'left over' }, 'shop.py'), false);
});

test('how to restore is only sent with what to restore', () => {
  const fields = { ...EMPTY, savepoint: ' /s/1 ', allowNonRestored: true, claimMode: 'CLAIM' };
  assert.deepEqual(runBody(fields, 'shop.py'), {
    programArgsList: [], flinkConfiguration: {}, savepointPath: '/s/1', allowNonRestoredState: true, claimMode: 'CLAIM',
  });
  assert.equal('savepointPath' in planBody(fields, 'shop.py'), false);
});

test('problems stand at their fields', () => {
  assert.deepEqual(problemsOf(EMPTY), {});
  assert.deepEqual(Object.keys(problemsOf({ ...EMPTY, arguments: '"', settings: 'x', parallelism: '0' })).sort(), ['arguments', 'parallelism', 'settings']);
  for (const wrong of ['-1', '1.5', 'two']) assert.ok(problemsOf({ ...EMPTY, parallelism: wrong }).parallelism);
});

test('programs are .py files and archives', () => {
  assert.equal(whyNoProgram('shop.py'), undefined);
  assert.equal(whyNoProgram('shop.ZIP'), undefined);
  assert.match(whyNoProgram('shop.jar') ?? '', /“shop.jar” is no program/);
  assert.equal(isArchive('shop.zip'), true);
  assert.equal(isArchive('shop.py'), false);
});
