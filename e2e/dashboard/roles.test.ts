/**
 * What each role finds closed, by the table that the service's own definitions make (docs/reference/permissions.md):
 * buttons are off and say why, screens are not in the navigation, and their addresses say that they are closed.
 */
import { readFileSync } from 'node:fs'
import type { OperationId, UserRole } from '@postrider/client'
import { casesOf } from '@postrider/testkit'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'
import { goTo, type Person, type Scene } from './scene.ts'
import { sendTestMail } from './test-mail.ts'

interface Screen {
  /** Below the pages of the tenant, or of the operator; `{name}` is an id of the scene. */
  readonly path: string
  /** In the navigation; a screen without it is reached from another. */
  readonly name?: string
  /** What the screen cannot do without. */
  readonly reads?: OperationId
  /** Of its buttons, at least these; there may be more. */
  readonly buttons?: readonly OperationId[]
}

const TENANT_SCREENS: readonly Screen[] = [
  { path: '', name: 'Overview', reads: 'getOverview' },
  { path: '/emails', name: 'Emails', reads: 'getEmailLogs' },
  { path: '/emails/{failed}', buttons: ['rescueEmails'] },
  { path: '/emails/{scheduled}', buttons: ['cancelEmails'] },
  { path: '/emails/{deferred}', buttons: ['retryEmails', 'cancelEmails'] },
  { path: '/live', name: 'Live', reads: 'streamEvents' },
  {
    path: '/mailers',
    name: 'Mailers',
    reads: 'listMailers',
    buttons: ['configureSMTP', 'oauthLogin'],
  },
  { path: '/mailers/oauth-apps', buttons: ['createOAuthApp'] },
  {
    path: '/mailers/{mailer}',
    buttons: ['testMailer', 'updateSMTP', 'deleteSMTPConfig', 'setMailerActive'],
  },
  { path: '/domains', name: 'Domains', reads: 'listDomains', buttons: ['addDomain'] },
  {
    path: '/domains/{domain}',
    buttons: ['verifyDomain', 'rotateDomainKey', 'deleteDomain'],
  },
  {
    ...{ path: '/templates', name: 'Templates', reads: 'listTemplates' },
    buttons: ['createTemplate'],
  },
  {
    path: '/templates/{template}',
    buttons: ['updateTemplate', 'previewTemplateDraft', 'sendEmail', 'deleteTemplate'],
  },
  {
    ...{ path: '/suppressions', name: 'Suppressions', reads: 'listSuppressions' },
    buttons: ['addSuppression', 'importSuppressions', 'exportSuppressions', 'deleteSuppression'],
  },
  {
    ...{ path: '/protection', name: 'Protection', reads: 'getPhishingSettings' },
    buttons: ['updatePhishingSettings'],
  },
  {
    ...{ path: '/webhooks', name: 'Webhooks', reads: 'listWebhooks' },
    buttons: ['registerWebhook', 'sendTestEvent', 'pauseWebhook', 'updateWebhook', 'deleteWebhook'],
  },
  {
    ...{ path: '/deliveries', name: 'Deliveries', reads: 'listWebhookDeliveries' },
    buttons: ['replayWebhookEvents'],
  },
  { path: '/deliveries/{delivery}', buttons: ['redeliver'] },
  { path: '/inbound', name: 'Inbound', reads: 'listInboundMessages' },
  { path: '/inbound?tab=domains', buttons: ['configureInboundRouting'] },
  {
    path: '/inbound/domains/{inbound}',
    buttons: [
      ...(['updateInboundDomain', 'deleteInboundDomain'] as const),
      ...(['createInboundUsername', 'deleteInboundUsername'] as const),
    ],
  },
  { path: '/mailboxes', name: 'Mailboxes', reads: 'listMailers', buttons: ['configureIMAP'] },
  { path: '/developers', name: 'Developers' },
  {
    ...{ path: '/test-inbox', name: 'Test inbox', reads: 'getEmailLogs' },
    buttons: ['simulateEvent'],
  },
  { path: '/emails/{tested}', buttons: ['simulateEvent'] },
  {
    ...{ path: '/settings?tab=members', reads: 'listMembers' },
    buttons: ['createMember', 'updateMember', 'deleteMember'],
  },
  { path: '/settings', name: 'Settings', reads: 'getUsage' },
  { path: '/settings?tab=usage', reads: 'getUsage' },
  { path: '/settings?tab=alerts', reads: 'getAlerts', buttons: ['setAlerts'] },
  { path: '/settings?tab=audit', reads: 'listAudit' },
]

const OPERATOR_SCREENS: readonly Screen[] = [
  { path: '/tenants', name: 'Tenants', reads: 'listTenants', buttons: ['createTenant'] },
  {
    ...{ path: '/tenants/{tenant}', reads: 'getTenant' },
    buttons: ['updateTenant', 'deleteTenant', 'createApiKey'],
  },
  { path: '/health', name: 'Health', reads: 'getHealth' },
  { path: '/queues', name: 'Queues', reads: 'getQueues' },
  { path: '/search', name: 'Search', reads: 'search' },
  { path: '/system', name: 'System', reads: 'getSystem' },
  { path: '/system?tab=alerts', reads: 'getSystem', buttons: ['setOperatorAlerts'] },
  { path: '/users', name: 'Users', reads: 'listUsers', buttons: ['createUser'] },
  { path: '/oidc', name: 'Single sign-on', reads: 'getSystem' },
  { path: '/audit', name: 'Audit', reads: 'listAuditOfAllTenants' },
]

const allowed = readPermissions()
const may = (role: UserRole, operation: OperationId | undefined) =>
  operation === undefined || allowed.has(`${role} ${operation}`)

/** The table's cells that are not empty. */
function readPermissions(): ReadonlySet<string> {
  const page = readFileSync(new URL('../../docs/reference/permissions.md', import.meta.url), 'utf8')
  const [head = [], ...rows] = page
    .split('\n')
    .filter((line) => /^\| (?:operation|`)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  return new Set(
    rows.flatMap((cells) =>
      cells.flatMap((cell, at) => (at > 2 && cell !== '' ? [`${head[at]} ${cells[1]}`] : [])),
    ),
  )
}

const NOT_FOR_ROLE = 'Your role does not include this.'
const ACT_FIRST = 'First press “Act for this tenant”'
/** That a button is off is looked at everywhere; its words, at one in so many of them, and closed addresses, too. */
const EVERY = casesOf(3, 1)

type Ids = Readonly<Record<string, string>>

describeInBrowser('who may not do something', (scene) => {
  let made: Promise<Ids> | undefined
  const idsOnce = () => {
    made ??= makeOneOfEach(scene())
    return made
  }
  const filled = (path: string, ids: Ids) =>
    path.replace(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? `no-${name}`)

  describe.each([
    { who: 'an owner', role: 'owner' },
    { who: 'a developer', role: 'developer' },
    { who: 'a supporter', role: 'support' },
    { who: 'a viewer', role: 'viewer' },
    { who: 'an operator who only reads', role: 'operator_viewer' },
    { who: 'an operator who looks into the tenant', role: 'operator' },
    { who: 'an operator who acts for the tenant', role: 'operator', acts: true },
  ] as const)('as $who', ({ role, ...o }) => {
    const acts = 'acts' in o
    const isOperator = role === 'operator' || role === 'operator_viewer'
    let person: Promise<Person> | undefined
    const personOnce = () => {
      person ??= personOf(scene(), role)
      return person
    }

    it('finds what is closed off, with the reason', async () => {
      const ids = await idsOnce()
      const page = await scene().open(`/app/t/${ids.tenant}`, {
        ...{ person: await personOnce(), maySeeAll: isOperator },
      })
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (acts) await page.getByRole('button', { name: 'Act for this tenant' }).click()
      const places = [
        ...TENANT_SCREENS.map((screen) => ({
          ...{ screen, base: `/app/t/${ids.tenant}` },
          as: role === 'operator' && !acts ? ('operator_viewer' as const) : role,
          reason: role === 'operator' ? ACT_FIRST : NOT_FOR_ROLE,
        })),
        ...(isOperator
          ? OPERATOR_SCREENS.map((screen) => ({
              ...{ screen, base: '/app/operator', as: role, reason: NOT_FOR_ROLE },
            }))
          : []),
      ]
      const shown = new Set<OperationId>()
      let off = 0
      for (const { screen, base, as, reason } of places) {
        if (screen.buttons === undefined || !may(role, screen.reads)) continue
        await goTo(page, base + filled(screen.path, ids))
        const buttons = await buttonsOf(page, screen.buttons)
        const wrong = buttons.filter(({ operation, isOff }) => isOff === may(as, operation))
        expect({ path: screen.path, wrong }).toEqual({ path: screen.path, wrong: [] })
        for (const { operation, isOff } of buttons) {
          shown.add(operation)
          if (!isOff) continue
          if (off % EVERY === 0) await expectReason(page, operation, reason)
          off += 1
        }
      }
      expect(shown.size).toBeGreaterThan(25)
    })

    it('is led to the open screens alone, and told at the address of a closed one', async () => {
      const ids = await idsOnce()
      const page = await scene().open(`/app/t/${ids.tenant}`, {
        ...{ person: await personOnce(), maySeeAll: isOperator },
      })
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (acts) await page.getByRole('button', { name: 'Act for this tenant' }).click()
      const all = [...TENANT_SCREENS, ...OPERATOR_SCREENS]
      const named = all.filter(({ name, reads }) => name !== undefined && may(role, reads))
      const links = page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link')
      await expect.poll(() => links.allInnerTexts()).toEqual(named.map(({ name }) => name))

      const closed = all.filter(({ reads }) => !may(role, reads))
      for (const screen of closed.filter((_, at) => at % EVERY === 0)) {
        const base = OPERATOR_SCREENS.includes(screen) ? '/app/operator' : `/app/t/${ids.tenant}`
        await page.goto(scene().origin + base + filled(screen.path, ids))
        await page.getByRole('heading', { name: 'This page is closed to you' }).waitFor()
        expect(new URL(page.url()).pathname).toContain(base)
      }
    })
  })

  it('is told nothing at the address of another tenant', async () => {
    const { open, newPerson, stranger, origin, complaints } = scene()
    const page = await open('/app/account', {
      person: await newPerson('owner'),
      refusals: ['403 /ui/api/', '404 /ui/api/'],
    })
    for (const path of ['', '/emails', '/webhooks', '/settings']) {
      await page.goto(`${origin}/app/t/${stranger.tenantId}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page
        .getByRole('alert')
        .or(page.getByRole('heading', { name: 'This page is closed to you' }))
        .first()
        .waitFor()
      expect(await complaints()).toEqual([])
    }
  })
})

async function personOf(scene: Scene, role: UserRole) {
  return role === 'operator' ? scene.operator : await scene.newPerson(role, { content: false })
}

interface FoundButton {
  readonly operation: OperationId
  readonly isOff: boolean
}

/** Once at least these are there; each operation once. */
async function buttonsOf(page: Page, wanted: readonly OperationId[]): Promise<FoundButton[]> {
  const read = () =>
    page.locator('main [data-operation]').evaluateAll((buttons) =>
      buttons.map((button) => ({
        operation: button.getAttribute('data-operation') as OperationId,
        isOff: button.getAttribute('aria-disabled') === 'true',
      })),
    )
  await expect
    .poll(async () => (await read()).map(({ operation }) => operation))
    .toEqual(expect.arrayContaining([...wanted]))
  return [...new Map((await read()).map((one) => [one.operation, one])).values()]
}

/** It says why when it has the focus, and opens nothing when it is pressed. */
async function expectReason(page: Page, operation: OperationId, reason: string): Promise<void> {
  const button = page.locator(`main [data-operation="${operation}"]`).first()
  await button.focus()
  await page.getByRole('tooltip').getByText(reason).waitFor()
  await page.keyboard.press('Enter')
  expect(await page.getByRole('dialog').count()).toBe(0)
  await button.blur()
  await page.getByRole('tooltip').waitFor({ state: 'detached' })
}

/** One of each thing that screens of their own show. */
async function makeOneOfEach(scene: Scene): Promise<Ids> {
  const { world, tenant } = scene
  const { client, tenantId } = tenant
  const [smtp, receiver] = await Promise.all([
    world.newSmtpServer({
      script: {
        'gone@example.com': ['550 5.1.1 no such user'],
        'later@example.com': ['451 4.3.0 later'],
      },
    }),
    world.newReceiver(),
  ])
  const { mailer } = await client.configureSMTP({
    ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', connection_type: 'basic' },
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  await client.registerWebhook({
    ...{ webhook_url: `${receiver.origin}/events`, event: 'EMAIL_EVENT', method: 'POST' },
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  await client.configureRelay({ kind: 'simulator' })
  await client.addDomain({ domain: 'mail.asterbooks.test', relay: 'simulator' })
  const inbound = 'in.asterbooks.test'
  await client.configureInboundRouting({ domain: inbound, url: `${receiver.origin}/inbound` })
  await client.createInboundUsername({ domain: inbound, username: 'desk' })
  await client.addSuppression({ email: 'no.more@example.com' })
  const { template } = await client.createTemplate({
    ...{ name: 'Receipt', subject: 'Order', content: [{ type: 'text/plain', value: 'Thank you' }] },
  })
  const send = async (to: string, more = {}) => {
    const { ref_id: refId } = await client.sendEmail({
      ...{ from: { email: 'news@example.com' }, to: [{ email: to }], subject: 'News', ...more },
      content: [{ type: 'text/plain', value: 'It works.' }],
    })
    return refId
  }
  const [failed, deferred, scheduled] = await Promise.all([
    send('gone@example.com'),
    send('later@example.com'),
    send('ada@example.com', { send_at: new Date(Date.now() + 3_600_000).toISOString() }),
  ])
  for (const [refId, status] of Object.entries({ [failed]: 'failed', [deferred]: 'deferred' }))
    await expect
      .poll(async () => (await client.getEmail(refId)).email.recipients[0]?.status)
      .toBe(status)
  const first = async () => (await client.listWebhookDeliveries({})).deliveries[0]?.delivery_id
  await expect.poll(first).toBeDefined()
  const tested = await sendTestMail(scene, { from: 'news@example.com', to: 'ada@example.com' })
  return {
    ...{ tenant: tenantId, mailer: mailer.mailer_id, domain: 'mail.asterbooks.test', inbound },
    template: template.template_id,
    ...{ failed, deferred, scheduled, tested, delivery: (await first()) ?? '' },
  }
}
