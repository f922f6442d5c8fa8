import {
  asksFor,
  attribute,
  der,
  namesExtension,
  oddKeys,
  pemOf,
  type RawRequest,
  rawRequest,
  requestOf,
  tags,
  usualKey,
} from './raw-request.ts';
import type { RequestPurpose } from '../../src/cluster/csr/read-request.ts';

const { set, sequence, bmp } = tags;
const rdn = (...parts: readonly Buffer[]): Buffer => der(set, ...parts);
const organization = (text: string): Buffer => rdn(attribute('organization', text));
const common = (text: string): Buffer => rdn(attribute('commonName', text));
const nodes = organization('system:nodes');

/** The same content under the tag of a set. */
const asSet = (element: Buffer): Buffer => Buffer.concat([Buffer.from([set]), element.subarray(1)]);

/** An IP address of four or sixteen bytes, given in hexadecimal. */
const address = (hex: string): readonly [number, Buffer] => [7, Buffer.from(hex, 'hex')];
const [own, other] = [address('c0000214'), address('c0000215')] as const;

const subjectsOf = (node: string): readonly (readonly Buffer[])[] => {
  const user = `system:node:${node}`;
  return [
    // Looks like the name, or compares equal to it in some program.
    ...[`${user}.`, `${user} `, ` ${user}`, `${user}\0`, `${user}\0.example.com`, `${user}\n`],
    ...[`system:node:\u043c0`, `system:node:\uff4d0`, `\u017fystem:node:${node}`],
    ...[`system:node:${node}\u200b`, `system:node:${node}\u0301`, `System:Node:${node}`],
    ...[`system:node:/${node}`, `system:node:${node},CN=admin`, `system:node:system:node:${node}`],
  ]
    .map((text) => [nodes, common(text)])
    .concat(
      ...[
        'system:nodes\0',
        'system:nodes ',
        'system:Nodes',
        'system:nodes,O=system:masters',
        '#0c0c73797374656d3a6e6f646573',
      ].map((text) => [[organization(text), common(user)]]),
      [[nodes, rdn(attribute('commonName', user), attribute('commonName', 'admin'))]],
      [
        [
          rdn(
            attribute('organization', 'system:nodes'),
            attribute('organization', 'system:masters'),
          ),
          common(user),
        ],
      ],
      [
        [
          nodes,
          rdn(attribute('commonName', Buffer.from('system:node:x9', 'utf16le').swap16(), bmp)),
        ],
      ],
      [[nodes], [common(user)], []],
      [
        [nodes, common(user), rdn()],
        [rdn(), nodes, common(user)],
        [nodes, rdn(), common(user)],
      ],
    );
};

/**
 * A valid request, and requests of the same node with a fault in their bytes; w0 has 192.0.2.20,
 * and 192.0.2.21 belongs to another host.
 */
export function forgedBytes(purpose: RequestPurpose): {
  readonly right: string;
  readonly wrong: readonly string[];
  /** Valid requests except for their key, their signature, or bytes beside them. */
  readonly oddKeys: readonly string[];
} {
  const node = purpose === 'client' ? 'm0' : 'w0';
  const subject = [nodes, common(`system:node:${node}`)];
  const right = purpose === 'client' ? [] : [asksFor([namesExtension([2, node], own)])];
  const asked = (...names: readonly (readonly [number, Buffer | string])[]): RawRequest => ({
    subject,
    attributes: [asksFor([namesExtension(...names)])],
  });
  const twoValues = der(
    sequence,
    requestOf('extensionRequest'),
    der(set, ...['w0', 'x'].map((name) => der(sequence, namesExtension([2, name], own)))),
  );
  const wrong: readonly RawRequest[] = [
    ...subjectsOf(node).map((parts) => ({ subject: parts, attributes: right })),
    asked([2, node], address('00000000000000000000ffffc0000215')),
    asked([2, node], own, address('c0000214ffffffff')),
    asked([2, node], own, address('c000021400')),
    asked([2, node], own, address('')),
    asked([2, ''], own),
    asked([2, `${node}.`], own),
    asked([2, ` ${node}`], own),
    asked([2, `${node}\0.example.com`], own),
    asked([2, `*.${node}`], own),
    asked([2, '\u212a'], own),
    asked([1, 'a@b'], [2, node], own),
    asked([6, `spiffe://${node}`], [2, node], own),
    asked([8, Buffer.from('2a0304', 'hex')], [2, node], own),
    asked([2, node], own, other),
    asked(),
    // Extensions that one program reads and another ignores.
    { subject, attributes: [...right, asksFor([namesExtension([2, 'x'])], 'microsoftExtensions')] },
    { subject, attributes: [asksFor([namesExtension([2, 'x'])]), ...right] },
    {
      subject,
      attributes: [
        ...right,
        der(sequence, requestOf('challengePassword'), der(set, der(tags.utf8, 'x'))),
      ],
    },
    { subject, attributes: [twoValues] },
    {
      subject,
      attributes: [asksFor([namesExtension([2, node], own), namesExtension([2, 'x'], own)])],
    },
    // Go does not read the first two, and ignores the attribute of the third.
    {
      subject: [nodes, rdn(asSet(attribute('commonName', `system:node:${node}`)))],
      attributes: right,
    },
    { subject, attributes: [asksFor([asSet(namesExtension([2, node], own))])] },
    { subject, attributes: [asSet(asksFor([namesExtension([2, node], own)]))] },
    { subject, attributes: right, more: der(tags.null) },
    { subject, attributes: right, more: der(0xa0, ...right) },
    { subject, attributes: right, behind: der(tags.null) },
  ];
  const odd: readonly RawRequest[] = [
    ...Object.values(oddKeys).map((key) => ({ subject, attributes: right, key: key() })),
    // The long form of a short length.
    {
      subject,
      attributes: right,
      spki: (usual) => der(sequence, Buffer.from([sequence, 0x81]), usual.subarray(3)),
    },
    // Go accepts these trailing bytes, as it reads no further than needed; they are not signed.
    ...['050030', '1f820100'].map((hex) => {
      const parameters = Buffer.from(hex, 'hex');
      return { subject, attributes: right, parameters };
    }),
  ];
  const whole = rawRequest({ subject, attributes: right, key: usualKey() });
  const pem = pemOf(whole);
  const [head = '', ...body] = pem.split('\n');
  const bytes = [
    ...wrong.map((one) => pemOf(rawRequest(one))),
    [head, 'Proc-Type: 4,ENCRYPTED', '', ...body].join('\n'),
    [head, 'Name: x', ...body].join('\n'),
    pem.replaceAll('CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'),
    `${pem}${pemOf(rawRequest({ subject }))}`,
    pemOf(Buffer.concat([whole, whole])),
    pemOf(whole.subarray(0, whole.length - 1)),
    // The long form of a short length, and an indefinite length.
    pemOf(Buffer.concat([Buffer.from([0x30, 0x83, 0]), whole.subarray(2)])),
    pemOf(
      Buffer.concat([
        Buffer.from([0x30, 0x80]),
        whole.subarray(whole[1] === 0x81 ? 3 : 2),
        Buffer.from([0, 0]),
      ]),
    ),
    whole.toString('latin1'),
  ];
  return { right: pem, wrong: bytes, oddKeys: odd.map((one) => pemOf(rawRequest(one))) };
}
