import { type Millis, seconds } from '../../model/duration.ts';

/** A waiting host sends two requests in a minute at most, so that hundreds can wait at once. */
export const perRequest: Millis = seconds(30);

/**
 * What the first look may cost: the cluster, the masters, the arbiters, and the report of what is
 * missing. It is not held against the looks that follow, so that those come without a gap.
 */
const firstLook = 4;

/** Spreads requests over looks that come every `perRequest`; each look earns one. */
export interface RequestBudget {
  /** Whether this look may send requests; called once for each look. */
  readonly mayAsk: () => boolean;
  /** A request was sent. */
  readonly spend: () => void;
}

/** A budget that lets the first look ask at once. */
export function requestBudget(): RequestBudget {
  let credit = firstLook;
  let isFirst = true;
  return {
    mayAsk: () => {
      if (!isFirst) credit = Math.min(1, credit + 1);
      isFirst = false;
      return credit > 0;
    },
    spend: () => {
      credit -= 1;
    },
  };
}
