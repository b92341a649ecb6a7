/** Traces for OpenTelemetry, from the acceptance to the webhook (docs/operations/monitor.md#traces). */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  findFreePort,
  type SmtpServerOptions,
  type WebhookReceiverOptions,
} from '@postrider/testkit'
import { createDatabase } from '@postrider/testkit/database'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Collector, createCollector, type Span } from './spans.ts'
import { createWorld, type Tenant, type World, waitForEvents } from './world.ts'

const FROM = 'news@sender.test'
const secretKeys = `k1:${randomBytes(32).toString('base64')}`
const CALLER = '00f067aa0ba902b7'
/**
 * Prints when a module of OpenTelemetry is looked for, or the one that holds it in a bundle. The library of the
 * metrics asks for the API, whatever we do.
 */
const WATCH = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({ resolve(specifier, context, next) {
    const isOurs = !context.parentURL?.includes('/prom-client/')
    if (isOurs && /opentelemetry|export-spans/.test(specifier)) process.stderr.write('loads ' + specifier + '\\n')
    return next(specifier, context)
  } })
`)}`

interface Scene extends Tenant {
  readonly receiver: Awaited<ReturnType<World['newReceiver']>>
}

let directory: string
let postgres: PostgresServer
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-traces-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  await postgres.start()
})
afterAll(async () => {
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

/** A service on a database of its own: all roles in one process, unless told otherwise. */
async function start(
  processEnv: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<World> {
  const database = await createDatabase({ serverUrl: postgres.url, template: 'postgres' })
  opened.push(database)
  const world = createWorld(
    { DATABASE_URL: database.url, SECRET_KEYS: secretKeys, ...env },
    { NODE_OPTIONS: WATCH, ...processEnv },
  )
  opened.push({ close: () => world.destroy() })
  await world.start()
  return world
}

async function collect(): Promise<Collector> {
  const collector = await createCollector()
  opened.push({ close: () => collector.receiver.close() })
  return collector
}

async function scene(
  world: World,
  o: { readonly smtp?: SmtpServerOptions; readonly receiver?: WebhookReceiverOptions } = {},
): Promise<Scene> {
  const [tenant, smtp, receiver] = await Promise.all([
    world.newTenant(),
    world.newSmtpServer(o.smtp),
    world.newReceiver(o.receiver),
  ])
  await tenant.client.registerWebhook({
    webhook_url: `${receiver.origin}/a-secret-path?key=a-secret-key`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    headers: { authorization: 'Bearer of-the-receiver' },
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  await tenant.client.configureSMTP({
    name: 'News',
    email: FROM,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  return { ...tenant, receiver }
}

const newTraceId = () => randomBytes(16).toString('hex')

async function send({ client }: Tenant, traceId: string, flags = '01'): Promise<string> {
  const { ref_id } = await client.sendEmail(
    {
      from: { email: FROM },
      to: [{ email: 'ada@recipient.test' }],
      subject: 'A subject that nobody sees',
      content: [{ type: 'text/plain', value: 'A body that nobody sees.' }],
    },
    { headers: { traceparent: `00-${traceId}-${CALLER}-${flags}` } },
  )
  return ref_id
}

const spanIdOf = (traceparent: string | undefined) => traceparent?.split('-')[2]
const named = (spans: readonly Span[], name: string) => spans.filter((span) => span.name === name)
const loaded = (world: World) =>
  world.service().process.lines.filter((line) => line.startsWith('loads '))
const logged = (world: World, message: string) =>
  world.service().process.lines.filter((line) => line.includes(`"msg":"${message}"`))

async function spanCounts(world: World): Promise<Record<string, number>> {
  const text = await (await fetch(`${world.service().origin}/metrics`)).text()
  const lines = text.matchAll(/^postrider_trace_spans_total\{outcome="(\w+)"\} (\d+)$/gm)
  return Object.fromEntries([...lines].map(([, outcome = '', count]) => [outcome, Number(count)]))
}

describe('with a collector', () => {
  it('acceptance, attempts and webhook requests are spans of the caller’s trace', async () => {
    const collector = await collect()
    const world = await start({
      ...collector.env,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    })
    expect(loaded(world).length).toBeGreaterThan(0)
    const tenant = await scene(world, {
      smtp: { script: { 'ada@recipient.test': ['450 4.2.1 try later', 'ok'] } },
      receiver: { script: [500] },
    })
    const traceId = newTraceId()
    const refId = await send(tenant, traceId)
    await tenant.receiver.waitFor(({ body }) => body.includes('MAIL_DELIVERED'))
    await expect
      .poll(() => {
        const spans = collector.spansOf(traceId)
        return [named(spans, 'attempt').length, named(spans, 'POST webhook').length]
      })
      .toEqual([2, tenant.receiver.requests.length])
    const spans = collector.spansOf(traceId).sort((a, b) => (a.startNs < b.startNs ? -1 : 1))

    const [accept, ...others] = named(spans, 'POST /v1/email/send')
    expect(others).toEqual([])
    expect(accept).toMatchObject({ kind: 'server', parent: CALLER, error: undefined })
    expect(accept?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/email/send',
      'http.response.status_code': 202,
      'url.path': '/v1/email/send',
      'url.scheme': 'http',
      'messaging.system': 'postrider',
      'messaging.operation.type': 'send',
      'messaging.message.id': refId,
      'postrider.tenant_id': tenant.tenantId,
    })
    expect(accept?.resource).toMatchObject({
      'service.name': 'postrider',
      'deployment.environment.name': 'test',
      'telemetry.sdk.name': 'opentelemetry',
    })

    const attempts = named(spans, 'attempt')
    expect(attempts.map(({ parent, kind }) => [parent, kind])).toEqual(
      Array(2).fill([accept?.spanId, 'client']),
    )
    expect(attempts.map(({ attributes }) => attributes['postrider.attempt'])).toEqual([1, 2])
    expect(attempts.map(({ attributes }) => attributes['postrider.outcome'])).toEqual([
      'deferred',
      'accepted',
    ])
    expect(attempts[0]?.error).toBe(attempts[0]?.attributes['error.type'])
    expect(attempts[0]?.error).toMatch(/^[a-z_]+$/)
    expect(attempts[1]?.error).toBeUndefined()
    expect(attempts[0]?.attributes).toMatchObject({
      'messaging.message.id': refId,
      'server.address': '127.0.0.1',
      'network.protocol.name': 'smtp',
    })

    const requests = named(spans, 'POST webhook')
    expect(new Set(requests.map(({ parent }) => parent))).toEqual(new Set([accept?.spanId]))
    // What the receiver does with a request is below the span of that very request.
    expect(requests.map(({ spanId }) => spanId).sort()).toEqual(
      tenant.receiver.requests.map((one) => spanIdOf(one.header('traceparent'))).sort(),
    )
    expect(requests[0]).toMatchObject({ error: '500', kind: 'client' })
    expect(requests[0]?.attributes).toMatchObject({
      'http.response.status_code': 500,
      'postrider.outcome': 'retry',
      'server.address': '127.0.0.1',
      'messaging.batch.message_count': 1,
    })
    expect(requests[1]?.attributes['http.request.resend_count']).toBe(1)
    expect(requests[1]?.error).toBeUndefined()

    for (const span of spans) {
      expect(span.endNs >= span.startNs).toBe(true)
      expect(span.startNs >= (accept?.startNs ?? 0n)).toBe(true)
    }
    expect(collector.receiver.requests[0]?.path).toBe('/v1/traces')
    expect(collector.receiver.requests[0]?.header('authorization')).toBe('Bearer of-the-collector')
    const secrets = /recipient\.test|sender\.test|nobody sees|a-secret|of-the-receiver/
    expect(collector.text()).not.toMatch(secrets)
    expect(world.service().process.lines.join('\n')).not.toContain('of-the-collector')
  })

  it('processes with different roles write spans of one trace', async () => {
    const collector = await collect()
    const roles = { ROLES: 'api,janitor' }
    const world = await start({ ...collector.env, OTEL_SERVICE_NAME: 'mail-api' }, roles)
    await world.startBeside({ ROLES: 'sender' }, { OTEL_SERVICE_NAME: 'mail-sender' })
    await world.startBeside({ ROLES: 'dispatcher' }, { OTEL_SERVICE_NAME: 'mail-webhooks' })
    const traceId = newTraceId()
    const tenant = await scene(world)
    await send(tenant, traceId)
    await waitForEvents(tenant.receiver, 1)
    await expect.poll(() => collector.spansOf(traceId).length).toBe(3)
    const spans = collector.spansOf(traceId)
    const [accept] = named(spans, 'POST /v1/email/send')
    const serviceOf = (name: string) => named(spans, name)[0]?.resource['service.name']
    expect(accept?.resource['service.name']).toBe('mail-api')
    expect([serviceOf('attempt'), serviceOf('POST webhook')]).toEqual([
      'mail-sender',
      'mail-webhooks',
    ])
    for (const span of spans) if (span !== accept) expect(span.parent).toBe(accept?.spanId)
  })

  it('a trace that the caller does not sample has no spans, and stays so for its receivers', async () => {
    const collector = await collect()
    const world = await start(collector.env)
    const tenant = await scene(world)
    const [ignored, sampled] = [newTraceId(), newTraceId()]
    await send(tenant, ignored, '00')
    await waitForEvents(tenant.receiver, 1)
    await send(tenant, sampled)
    await waitForEvents(tenant.receiver, 2)
    await expect.poll(() => collector.spansOf(sampled).length).toBe(3)
    expect(collector.spansOf(ignored)).toEqual([])
    expect(tenant.receiver.requests[0]?.header('traceparent')).toMatch(`00-${ignored}-`)
    expect(tenant.receiver.requests[0]?.header('traceparent')).toMatch(/-00$/)
  })

  it('the sampler of the operator decides for traces that begin here', async () => {
    const collector = await collect()
    const world = await start({
      ...collector.env,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    })
    const tenant = await scene(world)
    await tenant.client.sendEmail({
      from: { email: FROM },
      to: [{ email: 'ada@recipient.test' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'Hi.' }],
    })
    await waitForEvents(tenant.receiver, 1)
    expect(tenant.receiver.requests[0]?.header('traceparent')).toMatch(/-00$/)
    const sampled = newTraceId()
    await send(tenant, sampled)
    await expect.poll(() => collector.spansOf(sampled).length).toBe(3)
    expect(await spanCounts(world)).toEqual({ exported: 3, failed: 0, dropped: 0 })
  })
})

describe('without a collector that takes spans', () => {
  it.each([
    ['is away', async () => `http://127.0.0.1:${await findFreePort()}`],
    [
      'answers 500',
      async (collector: Collector) => {
        collector.receiver.setScript(() => 500)
        return collector.receiver.origin
      },
    ],
    [
      'never answers',
      async (collector: Collector) => {
        collector.receiver.setScript(() => ({ ending: 'hang' }))
        return collector.receiver.origin
      },
    ],
  ] as const)('mail and webhooks go on when the collector %s', async (_what, originOf) => {
    const collector = await collect()
    const origin = await originOf(collector)
    const world = await start({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${origin}/v1/traces`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    })
    const tenant = await scene(world)
    await send(tenant, newTraceId())
    await waitForEvents(tenant.receiver, 1)
    await expect.poll(async () => (await spanCounts(world)).failed).toBe(3)
    // More of the same is no news.
    await send(tenant, newTraceId())
    await expect.poll(async () => (await spanCounts(world)).failed).toBe(6)
    expect(logged(world, 'traces.lost').length).toBe(1)
    await send(tenant, newTraceId())
    await waitForEvents(tenant.receiver, 3)
    const { process } = world.service()
    expect(await process.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(process.lines.some((line) => line.includes('"msg":"service.stopped"'))).toBe(true)
  })

  it('says once that spans are taken again', async () => {
    const collector = await collect()
    const world = await start(collector.env)
    const tenant = await scene(world)
    collector.receiver.setScript(() => 500)
    await send(tenant, newTraceId())
    await expect.poll(async () => (await spanCounts(world)).failed).toBe(3)
    collector.receiver.setScript(undefined)
    await send(tenant, newTraceId())
    await expect.poll(async () => (await spanCounts(world)).exported).toBe(3)
    expect(logged(world, 'traces.exported_again').length).toBe(1)
    expect(logged(world, 'traces.exported_again')[0]).toContain('"spans_lost":3')
  })

  it.each([
    ['no variable', {}],
    [
      'OTEL_SDK_DISABLED',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' },
    ],
    ['an address that is none', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }],
  ] as const)('the SDK is not loaded with %s', async (_what, env) => {
    const world = await start(env)
    const tenant = await scene(world)
    await send(tenant, newTraceId())
    await waitForEvents(tenant.receiver, 1)
    expect(loaded(world)).toEqual([])
    expect(await spanCounts(world)).toEqual({})
    const ignored = logged(world, 'traces.setting_ignored')
    expect(ignored.length).toBe('OTEL_SDK_DISABLED' in env || Object.keys(env).length === 0 ? 0 : 1)
  })
})
