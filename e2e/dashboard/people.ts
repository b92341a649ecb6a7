/**
 * The people of a scene. To set and to prove a password takes the service half a second of scrypt each, so a person
 * stays logged in, and goes on to the next test that asks for somebody: with the role and the tenants of that test.
 */
import { randomBytes } from 'node:crypto'
import type { Postrider } from '@postrider/client'
import type { MemberRole, OperatorRole } from '@postrider/contract'
import type { BrowserContext } from 'playwright-core'

const PASSWORD = 'some quiet words to remember'

export interface Person {
  readonly email: string
  readonly password: string
  readonly role: MemberRole | OperatorRole
}

export const operator: Person = {
  email: 'operator@example.com',
  password: PASSWORD,
  role: 'operator',
}

export interface NewPerson {
  readonly name?: string
  readonly email?: string
  /** The scene's own, unless named; an operator has none. */
  readonly tenantIds?: readonly string[]
  readonly content?: boolean
}

export type People = ReturnType<typeof createPeople>

interface Known {
  readonly userId: string
  readonly email: string
}

type Cookies = Parameters<BrowserContext['addCookies']>[0]

export function createPeople(origin: string, service: Postrider) {
  const idle: Known[] = []
  const lent: Known[] = []
  /** Of their sessions, by address. */
  const cookies = new Map<string, Cookies>()

  /** The token of a link is enough: the link itself is for the pages. */
  async function acceptInvitation(url: string, more: object = {}): Promise<void> {
    const token = new URL(url).hash.slice(1)
    const response = await fetch(`${origin}/ui/invitation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, password: PASSWORD, ...more }),
    })
    if (!response.ok)
      throw new Error(`the invitation answered ${response.status}: ${await response.text()}`)
  }

  async function invite(role: Person['role'], o: NewPerson): Promise<Known> {
    const email = o.email ?? `person.${randomBytes(4).toString('hex')}@example.com`
    const { invitation_url: url, user } = await service.createUser({
      ...{ email, role, name: o.name ?? `A ${role}` },
      ...(o.tenantIds === undefined ? {} : { tenants: [...o.tenantIds] }),
      ...(o.content === undefined ? {} : { content: o.content }),
    })
    await acceptInvitation(url)
    return { userId: user.user_id, email }
  }

  /** Undefined where nobody is idle who may still be there. */
  async function takeIdle(role: Person['role'], o: NewPerson): Promise<Known | undefined> {
    for (let one = idle.pop(); one !== undefined; one = idle.pop())
      try {
        await service.updateUser({
          ...{ user_id: one.userId, role, name: `A ${role}` },
          ...(o.tenantIds === undefined ? {} : { tenants: [...o.tenantIds] }),
        })
        return one
      } catch {
        // The test that had the person has deleted them.
      }
    return undefined
  }

  return {
    /** The first of all, by the link that the start of the service has printed. */
    async setUp(url: string): Promise<void> {
      await acceptInvitation(url, { email: operator.email, name: 'Olga Operator' })
    },
    async take(role: Person['role'], o: NewPerson): Promise<Person> {
      const isAnybody = o.name === undefined && o.email === undefined && o.content === undefined
      const one = (isAnybody ? await takeIdle(role, o) : undefined) ?? (await invite(role, o))
      if (isAnybody) lent.push(one)
      return { email: one.email, password: PASSWORD, role }
    },
    /** All that tests have taken, but for those who are somebody by name. */
    giveBack(): void {
      idle.push(...lent.splice(0))
    },
    async logIn(context: BrowserContext, { email, password }: Person): Promise<void> {
      const known = cookies.get(email)
      if (known !== undefined) {
        await context.addCookies(known)
        if ((await context.request.get(`${origin}/ui/session`)).ok()) return
        await context.clearCookies()
      }
      const data = { email, password }
      const answer = await context.request.post(`${origin}/ui/session`, { data })
      if (!answer.ok()) throw new Error(`${email} cannot log in: ${answer.status()}`)
      cookies.set(email, await context.cookies(origin))
    },
  }
}
