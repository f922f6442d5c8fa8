import { always, keyed, object, optional, text, type ListShape } from './shape.ts';
import type { HttpHeader, Resource, Verification } from './types.ts';

/** The key of users, groups, units, drop-ins, arrays, encrypted devices and headers. */
export const byName = ({ name }: { readonly name: string }): string => name;

const header = object<HttpHeader>('HttpHeader', { name: always(text), value: optional(text) });

const headers: ListShape = { ...keyed<HttpHeader>(header, byName), removesWithout: 'value' };

const verification = object<Verification>('Verification', { hash: optional(text) });

/** Content of a file, or a key file. Compression is as old as spec 3.0 here. */
export const resource = object<Resource>('Resource', {
  compression: optional(text),
  httpHeaders: optional(headers, 1),
  source: optional(text),
  verification: optional(verification),
});

/** Another config or a certificate authority. Spec 3.0 knows only source and verification. */
export const reference = object<Resource>('Reference', {
  compression: optional(text, 1),
  httpHeaders: optional(headers, 1),
  source: optional(text),
  verification: optional(verification),
});
