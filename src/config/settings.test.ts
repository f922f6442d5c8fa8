import { expect, it } from 'vitest';
import { secretFiles, settingKeys, settingKinds } from './settings.ts';

it('every secret setting has a setting for its file', () => {
  const secrets = settingKeys.filter((key) => settingKinds[key].kind === 'secret');
  expect(Object.keys(secretFiles)).toEqual(secrets);
});
