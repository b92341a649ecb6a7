/** Coming in and going out (docs/reference/people.md): as a person does it, on the pages themselves. */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'
import { type Person, settle } from './scene.ts'

async function logIn(page: Page, o: Pick<Person, 'email' | 'password'>): Promise<void> {
  await page.getByLabel('Email').fill(o.email)
  await page.getByLabel('Password', { exact: true }).fill(o.password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

describeInBrowser('the login', (scene) => {
  it('takes a person to the overview, and the button of the menu logs out again', async () => {
    const { open, newPerson, tenant } = scene()
    const person = await newPerson('owner')
    const page = await open('/')
    await page.waitForURL('**/app/login')
    await logIn(page, person)
    await page.waitForURL(`**/app/t/${tenant.tenantId}**`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    // What is under way when the session ends is refused.
    await settle(page)

    await page.getByRole('button', { name: 'Your account' }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.waitForURL('**/app/login')
    expect(await page.context().cookies()).toEqual([])
    await page.goBack()
    await page.waitForURL('**/app/login**')
  })

  it('leaves nothing of a person in other tabs when another logs in in the same browser', async () => {
    const { open, newPerson, origin, stranger, tenant } = scene()
    const before = await newPerson('owner')
    const next = await newPerson('owner', { tenantIds: [stranger.tenantId] })
    const email = 'left.behind@example.com'
    await tenant.client.addSuppression({ email })
    const become = ({ email, password }: Person) =>
      page.context().request.post(`${origin}/ui/session`, { data: { email, password } })
    const o = { maySeeAll: true, refusals: ['403 /ui/api/'] }
    const page = await open(`/app/t/${tenant.tenantId}/suppressions`, { person: before, ...o })
    await page.getByText(email).waitFor()

    const tab = await page.context().newPage()
    await tab.goto(`${origin}/app/account`)
    await tab.getByRole('button', { name: 'Your account' }).click()
    await tab.getByRole('menuitem', { name: 'Log out' }).click()
    await page.waitForURL('**/app/login**')
    await logIn(tab, next)
    await tab.waitForURL(`**/app/t/${stranger.tenantId}**`)

    // Not by the page of the login: the session is another from one moment to the next.
    await become(before)
    await page.goto(`${origin}/app/t/${tenant.tenantId}/suppressions`)
    await page.getByText(email).waitFor()
    await become(next)
    await tab.goto(`${origin}/app/account`)
    await tab.getByText(next.email).first().waitFor()
    await page.getByText(email).waitFor({ state: 'detached' })
  })

  it('says that address or password is wrong, and stays', async () => {
    const { open, operator } = scene()
    const page = await open('/app/login')
    await logIn(page, { email: operator.email, password: 'not the password at all' })
    const told = page.getByRole('alert')
    await told.getByText('The address or the password is wrong.').waitFor()
    expect(new URL(page.url()).pathname).toBe('/app/login')
  })

  it('comes back to the page that was asked for', async () => {
    const { open, newPerson, tenant } = scene()
    const person = await newPerson('viewer')
    const wanted = `/app/account?from=${tenant.tenantId}`
    const page = await open(wanted)
    await page.waitForURL('**/app/login?to=**')
    await logIn(page, person)
    await page.waitForURL('**/app/account**')
    await page.getByRole('heading', { level: 1 }).waitFor()
  })

  it('leads nowhere else than to its own pages', async () => {
    const { open, newPerson, origin } = scene()
    const person = await newPerson('viewer')
    const page = await open('/app/login?to=https://evil.test/')
    await logIn(page, person)
    await page.waitForURL('**/app/t/**')
    expect(page.url().startsWith(`${origin}/app/`)).toBe(true)
  })

  it('has no barriers in either theme', async () => {
    const { open } = scene()
    const page = await open('/app/login')
    await page.getByLabel('Password', { exact: true }).waitFor()
    expect(await findBarriers(page)).toEqual([])
  })
})

describeInBrowser('an invitation of a member', (scene) => {
  it('leads the second person from the link to their first login, once', async () => {
    const { open, newPerson, tenant, origin } = scene()
    const settings = `/app/t/${tenant.tenantId}/settings`
    const owners = await open(settings, { person: await newPerson('owner') })
    await owners.getByRole('button', { name: 'Invite a person' }).click()
    const dialog = owners.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Sam Second')
    await dialog.getByLabel('Email').fill('sam.second@example.com')
    expect(await findBarriers(owners)).toEqual([])
    await dialog.getByRole('button', { name: 'Invite a person' }).click()
    const link = await dialog.getByRole('region', { name: 'The invitation' }).innerText()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const row = owners.getByRole('row').filter({ hasText: 'sam.second@example.com' })
    await row.getByText('Invited', { exact: true }).waitFor()
    await row.getByText('Developer').waitFor()

    const sams = await open(link.slice(origin.length))
    const password = sams.getByLabel('New password')
    await password.fill('too short')
    await sams.getByRole('button', { name: 'Set the password' }).click()
    expect(await password.evaluate((field) => field.matches(':invalid'))).toBe(true)
    await password.fill('a second quiet sentence')
    await sams.getByRole('button', { name: 'Set the password' }).click()
    await sams.waitForURL(`**/app/t/${tenant.tenantId}**`)
    await settle(sams)
    await sams.getByRole('button', { name: 'Your account' }).click()
    await sams.getByRole('menuitem', { name: 'Log out' }).click()
    await sams.waitForURL('**/app/login')
    await logIn(sams, { email: 'sam.second@example.com', password: 'a second quiet sentence' })
    await sams.waitForURL(`**/app/t/${tenant.tenantId}**`)
    await sams.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

    await owners.reload()
    await row.getByText('Active', { exact: true }).waitFor()
    const again = await open(link.slice(origin.length), { refusals: ['404 /ui/invitation'] })
    await again.getByLabel('New password').fill('a password of a third person')
    await again.getByRole('button', { name: 'Set the password' }).click()
    await again.getByText('This link does not work any more').waitFor()
  })
})

describeInBrowser(
  'the set-up link',
  (scene) => {
    it('makes the first user, who is the operator, and works once', async () => {
      const { open, setupUrl, origin } = scene()
      const path = setupUrl.slice(origin.length)
      expect(path).toMatch(/^\/app\/setup#./)
      const page = await open(path, { maySeeAll: true })
      await page.getByLabel('Your name').fill('Olga Operator')
      await page.getByLabel('Email').fill('olga@example.com')
      await page.getByLabel('New password').fill('some quiet words to remember')
      expect(await findBarriers(page)).toEqual([])
      await page.getByRole('button', { name: 'Set the password' }).click()
      await page.waitForURL('**/app/operator**')
      await page.getByRole('heading', { level: 1 }).waitFor()

      const again = await open(path, { refusals: ['404 /ui/invitation'] })
      await again.getByLabel('Your name').fill('Somebody Else')
      await again.getByLabel('Email').fill('else@example.com')
      await again.getByLabel('New password').fill('some quiet words to remember')
      await again.getByRole('button', { name: 'Set the password' }).click()
      await again.getByText('This link does not work any more').waitFor()
    })
  },
  { isSetUp: false },
)
