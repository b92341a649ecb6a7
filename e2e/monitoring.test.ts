/** Each expression of the alerts and the dashboard reads metrics and labels that a service at work really has. */
import { readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createWorld, type World, waitForEvents } from './world.ts'

const deploy = new URL('../deploy/', import.meta.url)
const readDeployed = (path: string) => readFileSync(new URL(path, deploy), 'utf8')
/** Prometheus adds these itself. */
const OF_PROMETHEUS = new Map([
  ['up', ['job', 'instance']],
  ['ALERTS', ['alertname', 'alertstate']],
])
const LABELS_OF_PROMETHEUS = ['job', 'instance']

/** By the name of a series, the labels that it has somewhere. */
type Exposed = ReadonlyMap<string, ReadonlySet<string>>

let world: World
let exposed: Exposed
beforeAll(async () => {
  world = createWorld({ ROLES: 'all' })
  await world.start()
  const [{ client }, smtp, receiver] = await Promise.all([
    world.newTenant(),
    world.newSmtpServer(),
    world.newReceiver(),
  ])
  await client.registerWebhook({
    webhook_url: receiver.origin,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { delivery: true } },
  })
  await client.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  await client.sendEmail({
    from: { email: 'news@sender.test' },
    to: [{ email: 'ada@recipient.test' }],
    subject: 'Hello',
    content: [{ type: 'text/plain', value: 'Hi.' }],
  })
  await waitForEvents(receiver, 1)
  exposed = readExposed(await (await fetch(`${world.service().origin}/metrics`)).text())
})
afterAll(() => world.destroy())

function readExposed(text: string): Exposed {
  const labels = new Map<string, Set<string>>()
  for (const [, name = '', inBraces = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = labels.get(name) ?? new Set()
    for (const [, label = ''] of inBraces.matchAll(/(\w+)="/g)) known.add(label)
    labels.set(name, known)
  }
  return labels
}

/** Grafana puts a duration in its place. */
const filledIn = (expr: string) => expr.replaceAll('$__rate_interval', '5m')

/** The names and labels of a selector, or of what an aggregation groups by; and what is no PromQL. */
function read(expr: string) {
  const text = filledIn(expr)
  const selectors: { name: string; readonly labels: string[] }[] = []
  const grouped: string[] = []
  const errors: string[] = []
  let isGrouping = false
  parser.parse(text).iterate({
    enter({ name, from, to, type }) {
      const own = text.slice(from, to)
      if (type.isError) errors.push(`${own} at ${from} of ${text}`)
      if (name === 'VectorSelector') selectors.push({ name: '', labels: [] })
      const selector = selectors.at(-1)
      if (name === 'Identifier' && selector?.name === '') selector.name = own
      if (name === 'GroupingLabels') isGrouping = true
      if (name === 'LabelName') (isGrouping ? grouped : (selector?.labels ?? [])).push(own)
    },
    leave({ name }) {
      if (name === 'GroupingLabels') isGrouping = false
    },
  })
  return { selectors, grouped, errors }
}

/** What of an expression is not there. */
function missingOf(expr: string, has: Exposed): string[] {
  const { selectors, grouped, errors } = read(expr)
  const labelsOf = (name: string) => OF_PROMETHEUS.get(name) ?? [...(has.get(name) ?? [])]
  const all = new Set(selectors.flatMap(({ name }) => labelsOf(name)))
  const isKnown = (name: string) => OF_PROMETHEUS.has(name) || has.has(name)
  const ofSelectors = selectors.flatMap(({ name, labels }) => {
    if (!isKnown(name)) return [name]
    const known = new Set([...labelsOf(name), ...LABELS_OF_PROMETHEUS])
    return labels.filter((label) => !known.has(label)).map((label) => `${name}{${label}}`)
  })
  const ofGroups = grouped.filter(
    (label) => !all.has(label) && !LABELS_OF_PROMETHEUS.includes(label),
  )
  return [...errors, ...ofSelectors, ...ofGroups.map((label) => `by (${label})`)]
}

function expressionsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'expr' && typeof one === 'string' ? [one] : expressionsOf(one),
  )
}

it.each([
  ['prometheus/alerts.yaml', 40],
  ['grafana/postrider.json', 30],
])('every expression of %s reads metrics and labels that there are', (path, atLeast) => {
  const found = expressionsOf(parse(readDeployed(path)))
  expect(found.length).toBeGreaterThanOrEqual(atLeast)
  expect(found.flatMap((expr) => missingOf(expr, exposed))).toEqual([])
})

it('a wrong name, a wrong label and wrong syntax are found', () => {
  expect(missingOf('sum(postrider_send_queues_late_total) > 0', exposed)).toEqual([
    'postrider_send_queues_late_total',
  ])
  expect(missingOf('postrider_send_queue{status="due"}', exposed)).toEqual([
    'postrider_send_queue{status}',
  ])
  expect(missingOf('sum by (mailer) (postrider_send_queue)', exposed)).toEqual(['by (mailer)'])
  expect(missingOf('sum(postrider_send_queue', exposed)).not.toEqual([])
})
