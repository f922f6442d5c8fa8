import { expect, it } from 'vitest';
import { secretFiles, settingKeys, settingKinds } from './settings.ts';

it('every secret has a file that it can be read from', () => {
  const secrets = settingKeys.filter((key) => settingKinds[key].kind === 'secret');
  expect(Object.keys(secretFiles)).toEqual(secrets);
});
