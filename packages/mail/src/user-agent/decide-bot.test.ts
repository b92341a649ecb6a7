import { describe, expect, it } from 'vitest'
import { botRules, type Engagement } from './bot-rules.ts'
import { decideBot } from './decide-bot.ts'
import { createUserAgentReader } from './read-user-agent.ts'
import { peoplesAgents, robotsAgents } from './user-agents.fixture.ts'

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148'
const GMAIL =
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'

const read = createUserAgentReader()
const verdict = (userAgent: string, change: Partial<Engagement> = {}) =>
  decideBot({
    kind: 'open',
    userAgent,
    isKnownRobot: read(userAgent).isKnownRobot,
    purpose: '',
    isBeforeDelivery: false,
    sinceDeliveryMs: 60_000,
    linksAtOnce: 1,
    ...change,
  })

describe('[2.5] a hit by a person', () => {
  it.each([
    ['Chrome', CHROME],
    ['Mail on an iPhone', IPHONE],
    [
      'Outlook',
      'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17932; Pro), Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
    ],
    ['Outlook on a phone', 'Outlook-iOS/2.0'],
    ['Outlook on another', 'Outlook-Android/2.0'],
    ['Roundcube', 'Roundcube Webmail/1.6'],
    ['Thunderbird', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0'],
    [
      'Safari',
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    ],
  ])('is recognised for opens and clicks by %s', (_name, userAgent) => {
    expect(verdict(userAgent).isBot).toBe(false)
    expect(verdict(userAgent, { kind: 'click' }).isBot).toBe(false)
  })

  it.each([
    ['Gmail', GMAIL],
    ['Yahoo', 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'],
    ['Outlook', 'Mozilla/4.0 (compatible; ms-office; MSOffice rmj)'],
  ])('is recognised through the image proxy of %s', (_name, userAgent) => {
    expect(verdict(userAgent)).toEqual({ isBot: false, rule: 'image_proxy' })
  })

  it.each(['open', 'click'] as const)(
    'is recognised for every program that people use: %s',
    (kind) => {
      const taken = peoplesAgents.filter((userAgent) => verdict(userAgent, { kind }).isBot)
      expect(taken).toEqual([])
    },
  )

  it('may be two links at once, or come with a slow clock', () => {
    expect(verdict(CHROME, { kind: 'click', linksAtOnce: 2 })).toEqual({ isBot: false })
    expect(verdict(CHROME, { kind: 'click', sinceDeliveryMs: -5 })).toEqual({ isBot: false })
    expect(verdict(CHROME, { kind: 'click', sinceDeliveryMs: undefined })).toEqual({ isBot: false })
  })
})

const BOTS: readonly (readonly [rule: string, userAgent: string, change?: Partial<Engagement>])[] =
  [
    ['prefetch', CHROME, { purpose: 'prefetch;prerender' }],
    ['prefetch', CHROME, { purpose: ' preview' }],
    ['before_delivery', CHROME, { isBeforeDelivery: true, sinceDeliveryMs: undefined }],
    ['too_soon', CHROME, { sinceDeliveryMs: 999 }],
    ['too_soon', CHROME, { kind: 'click', sinceDeliveryMs: 2_999 }],
    ['too_soon', GMAIL, { sinceDeliveryMs: 300 }],
    ['no_user_agent', ''],
    ['no_user_agent', ' '],
    ['exact_user_agent', 'Mozilla/5.0'],
    [
      'exact_user_agent',
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0',
    ],
    [
      'no_browser',
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)',
    ],
    ['gateway', 'Mozilla/5.0 (compatible; ProofPoint URL Defense)'],
    ['gateway', 'TrendMicro WRS'],
    ['gateway', 'Barracuda Sentinel (EE)'],
    ['known_robot', 'curl/8.5.0'],
    ['known_robot', 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)'],
    ['known_robot', GMAIL, { kind: 'click' }],
    ['links_at_once', CHROME, { kind: 'click', linksAtOnce: 3 }],
  ]

describe('[2.5] an automated hit', () => {
  const cases = BOTS.map(([rule, userAgent, change = {}]) => ({ rule, userAgent, change }))
  it.each(cases)('is recognised by $rule: $userAgent', ({ rule, userAgent, change }) => {
    expect(verdict(userAgent, change)).toEqual({ isBot: true, rule })
  })

  it.each(['open', 'click'] as const)('is recognised by every text in the list: %s', (kind) => {
    const taken = robotsAgents.filter((userAgent) => !verdict(userAgent, { kind }).isBot)
    expect(taken).toEqual([])
  })

  it('has an example for each rule', () => {
    const shown = new Set(BOTS.map(([rule]) => rule))
    expect(botRules.filter(({ isBot, name }) => isBot && !shown.has(name))).toEqual([])
  })

  it('ends one second after delivery for an open, and three seconds after for a click', () => {
    expect(verdict(CHROME, { sinceDeliveryMs: 1_000 }).isBot).toBe(false)
    expect(verdict(CHROME, { kind: 'click', sinceDeliveryMs: 3_000 }).isBot).toBe(false)
  })
})
