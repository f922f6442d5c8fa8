import { expect, it } from 'vitest';
import type { HostFinding } from './check.ts';
import { renderFinding, summaryOf } from './doctor.ts';

const findings: readonly HostFinding[] = [
  { check: 'memory', state: 'ok', says: '16 GB', hint: 'not shown' },
  { check: 'clock', state: 'warning', says: 'not synchronized', hint: 'check chronyd' },
  { check: 'disk/check', state: 'failed', says: 'in use', code: 'disk.busy', hint: 'free it' },
  { check: 'image/choose', state: 'not checked', says: 'needs what disk/resolve finds' },
];

it('prints a line for each finding with its hint', () => {
  expect(findings.map(renderFinding).join('').split('\n')).toEqual([
    '✓ memory              16 GB',
    '! clock               not synchronized',
    '                      → check chronyd',
    '✗ disk/check          disk.busy: in use',
    '                      → free it',
    '– image/choose        needs what disk/resolve finds',
    '',
  ]);
});

it('wraps a long finding at a hundred columns', () => {
  const long = 'a sentence that continues '.repeat(20);
  const check = 'image quay.io/openshift-release-dev/ocp-v4.0-art-dev:4.18';
  const text = renderFinding({ check, state: 'failed', says: long, hint: long });
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
});

it('summarizes the findings and says whether an install would fail', () => {
  expect(summaryOf(findings)).toBe('\n1 failed, 1 warning, 1 fine; an install would fail\n');
  expect(summaryOf(findings.slice(0, 2))).toBe('\n0 failed, 1 warning, 1 fine\n');
});
