import { expect, it } from 'vitest';
import { chooseDriver } from './choose-driver.ts';

const home = { kind: 'home' } as const;
const absent = { kind: 'absent', why: 'there is no bootc' } as const;
const all = { isOstree: true, bootc: home, hasRpmOstree: true };
const refusal = 'bootc removes none but its own';

it.each<[string, Partial<Parameters<typeof chooseDriver>[0]>, string | undefined, string]>([
  ['bootc where it booted the host', {}, undefined, 'bootc'],
  ['rpm-ostree for kernel arguments that bootc cannot change', {}, refusal, 'rpm-ostree'],
  ['rpm-ostree without bootc', { bootc: absent }, undefined, 'rpm-ostree'],
  ['bootc on a host without ostree', { isOstree: false, hasRpmOstree: false }, undefined, 'bootc'],
])('chooses %s', (...[, more, refused, driver]) => {
  const choice = chooseDriver({ ...all, ...more }, refused);
  expect(choice.driver).toBe(driver);
  expect(choice.reason).toMatch(/bootc/);
});

it.each<[string, Partial<Parameters<typeof chooseDriver>[0]>, string | undefined]>([
  ['os.kernel-arguments-unsupported', { hasRpmOstree: false }, refusal],
  ['os.not-managed', { isOstree: false, bootc: absent }, undefined],
  ['os.no-driver', { bootc: absent, hasRpmOstree: false }, undefined],
])('refuses with %s', (code, more, refused) => {
  expect(() => chooseDriver({ ...all, ...more }, refused)).toThrow(
    expect.objectContaining({ code }),
  );
});
