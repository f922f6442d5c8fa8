import { describe, expect, it } from 'vitest';
import { Fault, faultPlan } from './fault.ts';

const get = (path: string) => ({ method: 'GET', path, body: '' });

describe('a fault plan', () => {
  it('hits only requests that match `on`', () => {
    const plan = faultPlan([Fault.parse({ kind: 'status', status: 503, on: '^GET /ignition' })]);
    expect(plan.decide(get('/cluster'))).toBeUndefined();
    expect(plan.decide(get('/ignition'))).toMatchObject({ kind: 'status', status: 503 });
    expect(plan.struck).toMatchObject([{ what: 'answers 503 to GET /ignition' }]);
  });

  it('ends after its duration, counted from the first hit', () => {
    let now = 1000;
    const plan = faultPlan([Fault.parse({ kind: 'hang', forSeconds: 30 })], () => now);
    now = 50_000;
    expect(plan.decide(get('/'))).toMatchObject({ kind: 'hang' });
    now = 79_999;
    expect(plan.decide(get('/'))).toMatchObject({ kind: 'hang' });
    now = 80_000;
    expect(plan.decide(get('/'))).toBeUndefined();
  });

  it('ends after its number of hits', () => {
    const plan = faultPlan([Fault.parse({ kind: 'cut', atPercent: 40, times: 1 })]);
    expect(plan.decide(get('/'))).toMatchObject({ kind: 'cut', atPercent: 40 });
    expect(plan.decide(get('/'))).toBeUndefined();
    expect(plan.hits()).toBe(1);
    expect(plan.struck.map(({ what }) => what)).toEqual(['cuts its answer to GET / at 40 %']);
  });

  it('begins with the request whose body matches `from`', () => {
    const plan = faultPlan([Fault.parse({ kind: 'refuse', from: '"30%"', forSeconds: 5 })]);
    expect(plan.decide(get('/progress'))).toBeUndefined();
    expect(plan.decide({ method: 'PUT', path: '/progress', body: '{"info":"30%"}' })).toMatchObject(
      { kind: 'refuse' },
    );
  });

  it('accepts a fault at run time', () => {
    const plan = faultPlan([]);
    expect(plan.decide(get('/'))).toBeUndefined();
    plan.add(Fault.parse({ kind: 'slow', delaySeconds: 1 }));
    expect(plan.decide(get('/'))).toMatchObject({ kind: 'slow' });
  });
});
