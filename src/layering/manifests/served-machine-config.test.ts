import fc from '../../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderedText } from '../../../test/layering/rendered.ts';
import { osImageIn, renderedNameIn, servedMachineConfig } from './served-machine-config.ts';

const image = `registry.example.com/ocl/master@sha256:${'f'.repeat(64)}`;
const key = 'machineconfiguration.openshift.io/pre-built-image';
const served = (text: string): string => servedMachineConfig(text, 'r.yaml', image);

/** The format of the Machine Config Controller: sorted keys, and empty members. */
const rendered = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  annotations:
    machineconfiguration.openshift.io/generated-by-controller-version: 1abc
    machineconfiguration.openshift.io/release-image-version: 4.23.0
  creationTimestamp: null
  name: rendered-master-e84e0d56c1c0f9911f5f105975bad979
  ownerReferences:
  - kind: MachineConfigPool
    uid: ""
spec:
  baseOSExtensionsContainerImage: quay.io/r/e@sha256:bb
  config:
    ignition:
      version: 3.5.0
    storage:
      files:
      - contents:
          source: "data:,osImageURL%3A%20no"
        mode: 420
        path: /etc/a # with a comment
  extensions: []
  fips: false
  osImageURL: quay.io/r/os@sha256:aa
`;

describe('servedMachineConfig', () => {
  it('changes only the OS image and the annotation', () => {
    expect(served(rendered)).toBe(
      rendered
        .replace('quay.io/r/os@sha256:aa', image)
        .replace('image-version: 4.23.0', `$&\n    ${key}: ${image}`),
    );
  });

  it.each(['e1', '.', '12e4567', '12:30:45'])('keeps the scalar %s', (text) => {
    const mode = (value: string) => served(rendered.replace('mode: 420', `mode: ${value}`));
    expect(mode(text).replace(`"${text}"`, text)).toBe(mode('X').replace('X', text));
  });

  it('changes nothing the second time, and replaces an earlier image', () => {
    expect(served(served(rendered))).toBe(served(rendered));
    const other = servedMachineConfig(served(rendered), 'r', 'a.b/c@sha256:0');
    expect(other).not.toContain(image);
    expect(parse(other)).toMatchObject({
      metadata: { annotations: { [key]: 'a.b/c@sha256:0' } },
      spec: { osImageURL: 'a.b/c@sha256:0' },
    });
  });

  it.each([
    ['without annotations', 'metadata:\n  name: r\nspec:\n  osImageURL: a\n'],
    ['with empty annotations', 'metadata: {annotations: {}, name: r}\nspec: {osImageURL: a}'],
    ['without an image', 'metadata:\n  name: r\nspec:\n  kernelType: default\n'],
    ['in JSON', '{"metadata":{"annotations":{"a":"b"},"name":"r"},"spec":{"osImageURL":"a"}}'],
    ['with CRLF line ends', 'metadata:\r\n  name: r\r\nspec:\r\n  osImageURL: a\r\n'],
    ['with quoted keys', "metadata:\n  'name': r\nspec:\n  'osImageURL': 'a'\n"],
    ['with a quoted merge key', '{"metadata":{"name":"r"},"spec":{"<<":"","osImageURL":"a"}}'],
    ['with a merge key', 'a: &a {b: c}\nmetadata: {name: r}\nspec: {<<: *a, osImageURL: a}\n'],
  ])('edits a MachineConfig %s', (...[, text]) => {
    expect(parse(served(text))).toMatchObject({
      metadata: { name: 'r', annotations: { [key]: image } },
      spec: { osImageURL: image },
    });
  });

  it('keeps all other members of a MachineConfig', () => {
    const texts = fc.dictionary(fc.string(), fc.string(), { maxKeys: 3, noNullPrototype: true });
    fc.assert(
      fc.property(texts, texts, (annotations, more) => {
        const object = { metadata: { annotations }, spec: { ...more, osImageURL: 'a' } };
        expect(JSON.parse(JSON.stringify(parse(served(JSON.stringify(object)))))).toEqual({
          metadata: { annotations: { ...annotations, [key]: image } },
          spec: { ...more, osImageURL: image },
        });
      }),
    );
  });

  it.each([
    ['invalid YAML', 'a: b: c\n\t'],
    ['another object', 'kind: A\n'],
    ['a list', '- a\n'],
    ['an alias as the spec', 'x: &a {osImageURL: a}\nmetadata:\n  name: r\nspec: *a\n'],
  ])('refuses %s', (...[, text]) => {
    expect(() => served(text)).toThrow(
      expect.objectContaining({ code: 'layering.machine-config-invalid' }),
    );
  });
});

const path = 'f.yaml';

describe('renderedNameIn', () => {
  it.each([
    ['names no rendered MachineConfig', 'kind: MachineConfigPool\nstatus: {}\n', /f\.yaml:2: /],
    ['is empty', '', /f\.yaml: /],
    ['is not an object', '- a\n', /f\.yaml:1: /],
  ])('refuses a pool that %s', (...[, text, message]) => {
    expect(() => renderedNameIn({ path, text })).toThrow(
      expect.objectContaining({
        code: 'layering.wrong-object',
        message: expect.stringMatching(message) as string,
      }),
    );
  });
});

describe('osImageIn', () => {
  it.each([
    ['names its OS image by a tag', /@sha256:a+/, ':latest', /f\.yaml:11: .*digest/],
    ['has no release version', /release-image-version/, 'other', /release-image-version$/],
    [
      'has no controller version',
      /generated-by-controller-version/,
      'other',
      /controller-version$/,
    ],
    ['is not rendered', /rendered-/, '99-', /is not rendered/],
  ])('refuses a MachineConfig that %s', (...[, from, to, message]) => {
    const text = renderedText('master').replace(from, to);
    expect(() => osImageIn({ path, text })).toThrow(
      expect.objectContaining({
        code: 'layering.machine-config-invalid',
        message: expect.stringMatching(message) as string,
      }),
    );
  });
});
