import { expect, it } from 'vitest';
import { chooseDriver, type OsFindings } from './choose-driver.ts';

const home = { kind: 'home' } as const;
const absent = { kind: 'absent', why: 'there is no bootc' } as const;
const all: OsFindings = {
  isOstree: true,
  bootc: home,
  hasRpmOstree: true,
  hasOstreeContainer: true,
};

it.each<[string, Partial<OsFindings>, boolean, string]>([
  ['bootc where it booted the host', {}, false, 'bootc'],
  ['rpm-ostree for kernel arguments', {}, true, 'rpm-ostree'],
  ['bootc for kernel arguments too where it is alone', { hasRpmOstree: false }, true, 'bootc'],
  ['rpm-ostree without bootc', { bootc: absent }, false, 'rpm-ostree'],
  ['ostree without both', { bootc: absent, hasRpmOstree: false }, true, 'ostree'],
  ['bootc on a host without ostree', { isOstree: false, hasRpmOstree: false }, false, 'bootc'],
])('chooses %s', (...[, more, changesKernelArguments, driver]) => {
  const choice = chooseDriver({ ...all, ...more }, changesKernelArguments);
  expect(choice.driver).toBe(driver);
  expect(choice.reason).toMatch(/bootc/);
});

it.each<[string, Partial<OsFindings>]>([
  ['os.not-managed', { isOstree: false, bootc: absent }],
  ['os.no-driver', { bootc: absent, hasRpmOstree: false, hasOstreeContainer: false }],
])('refuses with %s', (code, more) => {
  expect(() => chooseDriver({ ...all, ...more }, false)).toThrow(expect.objectContaining({ code }));
});
