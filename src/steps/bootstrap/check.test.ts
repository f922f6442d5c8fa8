import { describe, expect, it } from 'vitest';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { check } from './check.ts';

const service = { url: 'http://svc.example' };
const s3 = { endpoint: 'http://s3.example', bucket: 'b' };
const images = { mco: 'registry.example/mco@sha256:1' };

describe('bootstrap/check', () => {
  it.each<[string, ConfigInput]>([
    ['a service and the image are known', { service, images }],
    ['there is no service for a controller', { s3, images: { ...images, controller: '' } }],
  ])('is content when %s', async (_, config) => {
    const { events } = await runStep(check, { config });
    expect(events.at(-1)?.type).toBe('step.finished');
  });

  it.each<[string, ConfigInput, string]>([
    ['a source', { images }, 'bootstrap.no-source'],
    ['the machine-config-operator', { service }, 'bootstrap.no-mco-image'],
    [
      'the controller',
      { service, images: { ...images, controller: '' } },
      'bootstrap.no-controller-image',
    ],
  ])('names what is missing: %s', async (_, config, code) => {
    const { failure } = await tryStep(check, { config });
    expect(failure).toMatchObject({ code, kind: 'input' });
  });
});
