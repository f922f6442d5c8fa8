import { describe, expect, it } from 'vitest';
import {
  alternativeNames,
  keyPair,
  pkcs10,
  type RequestWishes,
  signingRequestObject,
} from '../../../test/support/kubelet-request.ts';
import { areAddressesOf, keyRefusal, nodeBootstrapper, nodeOf, readClaim } from './verify.ts';
import { readPkcs10 } from './pkcs10.ts';
import { readSigningRequest, type RequestPurpose } from './signing-request.ts';

const node = 'm0';
const ownAddresses: readonly string[] = ['192.0.2.7', '192.0.2.8', '2001:db8::7'];

interface Case {
  readonly request?: RequestWishes;
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Of the node; those above unless given. */
  readonly own?: readonly string[];
}

async function verified(purpose: RequestPurpose, { request, spec = {}, own = ownAddresses }: Case) {
  const pem = await pkcs10(request);
  const asked = readSigningRequest(signingRequestObject(purpose, pem, { spec }));
  const content = readPkcs10(pem);
  const claim = readClaim(asked!, content, node);
  const addresses =
    'cause' in claim || areAddressesOf(claim, own) ? undefined : 'not its addresses';
  const refusal = 'cause' in claim ? claim : keyRefusal(content!);
  return { about: nodeOf(asked!, content), reason: refusal?.reason ?? addresses };
}

const serving = (...names: readonly string[]): Case => ({
  request: { names: alternativeNames(...names) },
});

const approve = { about: 'm0', reason: undefined };
const refuse = (reason: string) => ({
  about: expect.anything() as string,
  reason: expect.stringContaining(reason) as string,
});

describe('a client request', () => {
  it.each<[string, Case]>([
    ['an EC key', {}],
    [
      'an EC key and the usages of a kubelet before 1.27',
      { spec: { usages: ['key encipherment', 'digital signature', 'client auth'] } },
    ],
    ['an RSA key', { request: { key: 'RSA 2048' } }],
    [
      'an RSA key and key encipherment',
      {
        request: { key: 'RSA 2048' },
        spec: { usages: ['digital signature', 'key encipherment', 'client auth'] },
      },
    ],
  ])('of the node is approved with %s', async (_, wishes) => {
    await expect(verified('client', wishes)).resolves.toEqual(approve);
  });

  it.each<[string, Case, string | undefined]>([
    ['another node', { request: { subject: 'O=system:nodes, CN=system:node:m1' } }, 'm1'],
    [
      'a node whose name begins with it',
      { request: { subject: 'O=system:nodes, CN=system:node:m00' } },
      'm00',
    ],
    ['a person', { request: { subject: 'O=system:masters, CN=admin' } }, undefined],
  ])('of %s is not about the node', async (_, wishes, about) => {
    const verdict = await verified('client', wishes);
    expect(verdict).toEqual({
      about,
      reason: expect.stringContaining('its common name is') as string,
    });
  });

  it.each<[string, Case, string]>([
    [
      'a further organization',
      { request: { subject: 'O=system:nodes, O=system:masters, CN=system:node:m0' } },
      'organization',
    ],
    [
      'another organization',
      { request: { subject: 'O=system:masters, CN=system:node:m0' } },
      'organization',
    ],
    ['no organization', { request: { subject: 'CN=system:node:m0' } }, 'organization is none'],
    [
      'two common names',
      { request: { subject: 'O=system:nodes, CN=system:node:m0, CN=admin' } },
      'common name',
    ],
    [
      'a further attribute',
      { request: { subject: 'O=system:nodes, OU=x, CN=system:node:m0' } },
      'subject has 2.5.4.11',
    ],
    ['an alternative name', serving('m0'), 'alternative names m0'],
    ['an alternative address', serving('192.0.2.7'), 'alternative names 192.0.2.7'],
    ['an e-mail address', { request: { names: [{ type: 'email', value: 'a@b' }] } }, 'kind email'],
    [
      'another who asks',
      { spec: { username: 'system:serviceaccount:default:default' } },
      'asks for it',
    ],
    [
      'another node that asks',
      { spec: { username: 'system:node:m1', groups: ['system:nodes'] } },
      'system:node:m1 asks',
    ],
    [
      'the node itself that asks',
      { spec: { username: 'system:node:m0', groups: ['system:nodes'] } },
      'system:node:m0 asks',
    ],
    [
      'somebody of the name of the bootstrapper',
      { spec: { groups: ['system:authenticated'] } },
      'not of the group',
    ],
    [
      'somebody who is in a further group',
      { spec: { groups: [...nodeBootstrapper.groups, 'system:masters'] } },
      'group system:masters too',
    ],
    ['usages of a server', { spec: { usages: ['digital signature', 'server auth'] } }, 'usages'],
    [
      'usages of a server too',
      { spec: { usages: ['digital signature', 'client auth', 'server auth'] } },
      'usages',
    ],
    ['too few usages', { spec: { usages: ['client auth'] } }, 'usages'],
    [
      'a usage twice',
      { spec: { usages: ['digital signature', 'client auth', 'client auth'] } },
      'usages',
    ],
  ])('is left alone with %s', async (_, wishes, reason) => {
    await expect(verified('client', wishes)).resolves.toEqual(refuse(reason));
  });

  it('is left alone when it is signed by another key', async () => {
    const [own, other] = await Promise.all([keyPair(), keyPair()]);
    const keys = { publicKey: other.publicKey, privateKey: own.privateKey };
    await expect(verified('client', { request: { keys } })).resolves.toEqual(refuse('signature'));
  });

  it('with a weak key is left alone', async () => {
    const weak = verified('client', { request: { key: 'RSA 1024' } });
    await expect(weak).resolves.toEqual(refuse('weaker'));
  });
});

describe('a serving request', () => {
  it.each<[string, Case]>([
    ['its name and one address', serving('m0', '192.0.2.7')],
    ['its name and every address', serving('m0', '192.0.2.7', '192.0.2.8', '2001:db8::7')],
    ['an address alone', serving('192.0.2.8')],
    ['an RSA key', { request: { key: 'RSA 2048', names: alternativeNames('m0', '192.0.2.7') } }],
    [
      'an address that is written otherwise in the record',
      { ...serving('2001:db8::7'), own: ['2001:0DB8:0:0::7'] },
    ],
    [
      'key encipherment',
      {
        ...serving('m0', '192.0.2.7'),
        spec: { usages: ['digital signature', 'key encipherment', 'server auth'] },
      },
    ],
  ])('of the node is approved with %s', async (_, wishes) => {
    await expect(verified('serving', wishes)).resolves.toEqual(approve);
  });

  it('of another node is not about the node', async () => {
    const other = {
      request: {
        subject: 'O=system:nodes, CN=system:node:m1',
        names: alternativeNames('m1', '192.0.2.9'),
      },
      spec: { username: 'system:node:m1' },
    };
    await expect(verified('serving', other)).resolves.toEqual({
      about: 'm1',
      reason: expect.stringContaining('its common name is') as string,
    });
  });

  it.each<[string, Case, string]>([
    ['a foreign address', serving('m0', '192.0.2.7', '192.0.2.1'), 'not its addresses'],
    ['a foreign address of version 6', serving('m0', '2001:db8::1'), 'not its addresses'],
    [
      'the name of the API',
      serving('m0', 'api-int.c.example', '192.0.2.7'),
      'names api-int.c.example',
    ],
    ['a name that ends like it', serving('xm0', '192.0.2.7'), 'names xm0'],
    ['no address', serving('m0'), 'no address'],
    ['nothing', serving(), 'no address'],
    [
      'a URL',
      {
        request: { names: [...alternativeNames('192.0.2.7'), { type: 'url', value: 'http://x' }] },
      },
      'kind url',
    ],
    ['a node without known addresses', { ...serving('192.0.2.7'), own: [] }, 'not its addresses'],
    [
      'another node that asks for it',
      { ...serving('192.0.2.7'), spec: { username: 'system:node:m1' } },
      'system:node:m1 asks',
    ],
    [
      'a node for another',
      {
        request: {
          subject: 'O=system:nodes, CN=system:node:m1',
          names: alternativeNames('192.0.2.7'),
        },
      },
      'common name is system:node:m1',
    ],
    [
      'somebody of the name of the node',
      { ...serving('192.0.2.7'), spec: { groups: ['system:authenticated'] } },
      'not of the group',
    ],
    [
      'usages of a client',
      { ...serving('192.0.2.7'), spec: { usages: ['digital signature', 'client auth'] } },
      'usages',
    ],
    [
      'a further organization',
      {
        request: {
          subject: 'O=system:nodes, O=x, CN=system:node:m0',
          names: alternativeNames('192.0.2.7'),
        },
      },
      'organization',
    ],
  ])('is left alone with %s', async (_, wishes, reason) => {
    await expect(verified('serving', wishes)).resolves.toEqual(refuse(reason));
  });

  it('is left alone when it cannot be read', () => {
    const asked = readSigningRequest(signingRequestObject('serving', 'no request'))!;
    expect(readClaim(asked, undefined, node)).toEqual({
      cause: 'unreadable',
      reason: 'it cannot be read',
    });
  });
});
