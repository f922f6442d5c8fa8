import { describe, expect, it } from 'vitest';
import { seconds } from '../../model/duration.ts';
import { gapIn } from '../../ports/kube-failures.ts';
import { errorOfAnswer, errorOfSilence, type Worth } from './api-error.ts';

const answer = (status: number, more: { text?: string; retryAfter?: number } = {}) =>
  errorOfAnswer('GET /x', status, more.text ?? '', more.retryAfter);

describe('errorOfAnswer', () => {
  it.each<[number, code: string, worth: Worth, isUncertain: boolean]>([
    [400, 'kube.invalid', 'none', false],
    [401, 'kube.denied', 'soon', false],
    [403, 'kube.denied', 'soon', false],
    [404, 'kube.not-found', 'none', false],
    [405, 'kube.failed', 'none', false],
    [408, 'kube.failed', 'soon', false],
    [409, 'kube.conflict', 'none', false],
    [410, 'kube.failed', 'list', false],
    [422, 'kube.invalid', 'none', false],
    [429, 'kube.busy', 'soon', false],
    [500, 'kube.failed', 'soon', true],
    [503, 'kube.failed', 'soon', true],
  ])('classifies %d as %s, worth %s', (...[status, code, worth, isUncertain]) => {
    expect(answer(status)).toMatchObject({ failure: { code }, worth, isUncertain });
  });

  it.each([
    ['in its details', { text: '{"details":{"retryAfterSeconds":1}}', retryAfter: 9 }, seconds(1)],
    ['in a header', { retryAfter: seconds(2) }, seconds(2)],
    ['in a header, beyond the limit', { retryAfter: seconds(3600) }, seconds(30)],
    ['nowhere', {}, 0],
  ])('reads the requested pause %s', (_, more, notBefore) => {
    expect(answer(429, more).notBefore).toBe(notBefore);
  });
});

it('errorOfSilence reports an untrusted certificate with its own code and its cause', () => {
  const early = Object.assign(new Error('certificate is not yet valid'), {
    code: 'CERT_NOT_YET_VALID',
  });
  const found = errorOfSilence('GET /x', 'https://api', early);
  expect(found).toMatchObject({ isAboutCredentials: true, failure: { code: 'kube.untrusted' } });
  expect(gapIn({ isSynced: false, lastError: found.failure })).toBe(
    'the certificate of the API server is not trusted: certificate is not yet valid',
  );
});
