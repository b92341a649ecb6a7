/**
 * What the simulator makes of a mail, by what stands before the `@` of its recipient, as data. A tag
 * (`bounce-hard+anna@…`) makes as many addresses as are wanted of each: what bounces or complains is
 * suppressed from then on, as it would be with a provider.
 *
 * Its reports are like provider A's, which has more of them and says more in them
 * (docs/reference/events.md#fields): `error_code` on what failed, `num_retries` where it was tried.
 */
import type { FailureCategory } from '@postrider/mail'
import type { SimulatedReport } from './report.ts'

/** One report, before it has its time, its id and its recipient. */
export type ScenarioReport = Omit<
  SimulatedReport,
  'id' | 'time' | 'message_id' | 'email' | 'postrider_ref'
>

export type Scenario =
  | { readonly reports: readonly ScenarioReport[] }
  | {
      readonly refused: {
        readonly category: FailureCategory
        readonly retryable: boolean
        readonly status: number
        readonly words: string
      }
    }

/** Of a documentation network. */
export const simulatedBrowser = {
  ip: '192.0.2.1',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
} as const

const delivered: ScenarioReport = { event: 'delivered', reason: '250 2.0.0 Delivered' }

const hard: ScenarioReport = {
  event: 'bounced',
  reason: '550 5.1.1 The mailbox does not exist',
  hard: true,
  suppresses: 'bounced',
  error_code: '550',
}

const complained: ScenarioReport = { event: 'complained', reason: '', suppresses: 'complained' }

/** What comes of test mail when it is asked for. */
export const laterReports = { bounce: hard, complaint: complained } as const

const ACCEPTED: Scenario = { reports: [delivered] }

const SCENARIOS: ReadonlyMap<string, Scenario> = new Map<string, Scenario>([
  ['delivered', ACCEPTED],
  [
    'deferred',
    { reports: [{ event: 'deferred', reason: '451 4.7.1 Try again later' }, delivered] },
  ],
  ['bounce-hard', { reports: [{ ...hard, num_retries: '0' }] }],
  [
    'bounce-soft',
    {
      reports: [
        { event: 'deferred', reason: '452 4.2.2 The mailbox is full' },
        {
          event: 'bounced',
          reason: '552 5.2.2 The mailbox is full',
          hard: false,
          error_code: '552',
          num_retries: '2',
        },
      ],
    },
  ],
  ['out-of-band', { reports: [delivered, hard] }],
  ['complaint', { reports: [delivered, complained] }],
  [
    'unsubscribe',
    {
      reports: [
        delivered,
        {
          event: 'unsubscribed',
          reason: '',
          suppresses: 'unsubscribed',
          ip: simulatedBrowser.ip,
          user_agent: simulatedBrowser.userAgent,
        },
      ],
    },
  ],
  [
    'policy',
    {
      reports: [
        {
          event: 'policy_rejected',
          reason: '550 5.7.1 The content is not allowed',
          error_code: '550',
        },
      ],
    },
  ],
  [
    'generation-failure',
    {
      reports: [
        {
          event: 'generation_failed',
          reason: '554 5.6.0 The message cannot be built',
          error_code: '554',
        },
      ],
    },
  ],
  [
    'generation-rejection',
    {
      reports: [
        {
          event: 'generation_rejected',
          reason: '554 5.7.1 The message is refused',
          error_code: '554',
        },
      ],
    },
  ],
  [
    'refused',
    {
      refused: {
        category: 'invalid_recipient',
        retryable: false,
        status: 400,
        words: 'The simulator refuses this recipient',
      },
    },
  ],
  [
    'throttled',
    {
      refused: {
        category: 'sender_rate_limited',
        retryable: true,
        status: 429,
        words: 'The simulator is asked too often',
      },
    },
  ],
])

/** @param address in wire form */
export function scenarioOf(address: string): Scenario {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  return SCENARIOS.get(local.replace(/\+.*$/s, '')) ?? ACCEPTED
}
