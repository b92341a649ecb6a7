/**
 * Logging in to the dashboard: invitations and sessions (docs/reference/people.md#sessions).
 *
 * These operations are for the dashboard in a browser, with a cookie in place of a key.
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, plainAnswer, timestamp } from './common.ts'
import { user, userEmailLengthMax, userMembership, userNameLengthMax } from './people.ts'
import { tenantState } from './tenants.ts'

/** Every operation of a session is called under this prefix, which stands before its path. */
export const sessionApiPrefix = '/ui/api'

export const passwordLengthMin = 12
export const passwordLengthMax = 256

const password = Type.String({
  minLength: passwordLengthMin,
  maxLength: passwordLengthMax,
  description: 'At least 12 characters',
})

export const acceptInvitationBody = closedObject({
  token: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'What stands behind # in the link',
  }),
  password,
  email: Type.Optional(
    Type.String({
      minLength: 3,
      maxLength: userEmailLengthMax,
      description: 'With the link for the first user alone, and required then',
    }),
  ),
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: userNameLengthMax,
      description: 'With the link for the first user alone, and required then',
    }),
  ),
})
export type AcceptInvitationBody = Static<typeof acceptInvitationBody>

export const acceptInvitationAnswer = answer({ user })
export type AcceptInvitationAnswer = Static<typeof acceptInvitationAnswer>

export const createSessionBody = closedObject({
  email: Type.String({
    minLength: 1,
    maxLength: userEmailLengthMax,
    description: 'The address of the user. Case does not matter',
  }),
  password: Type.String({
    minLength: 1,
    maxLength: passwordLengthMax,
    description: 'The password of the user',
  }),
})
export type CreateSessionBody = Static<typeof createSessionBody>

export const sessionTenant = closedObject(
  {
    ...userMembership.properties,
    name: Type.String({ description: 'Name of the tenant' }),
    state: tenantState,
  },
  { description: 'A tenant that the session may name in `X-Postrider-Tenant`' },
)
export type SessionTenant = Static<typeof sessionTenant>

const sessionFields = {
  user,
  role: user.properties.role,
  tenants: Type.Array(sessionTenant, {
    description: 'Empty for operators, who have all tenants: see listTenants',
  }),
  session_id: Type.String({ description: 'Identifier of the session' }),
  expires_at: timestamp(
    'When the session ends. Use moves this time, up to 14 days after the login',
  ),
}

export const createSessionAnswer = answer(sessionFields)
export type CreateSessionAnswer = Static<typeof createSessionAnswer>

const port = (tls: string) =>
  Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: `Port with ${tls}; null: there is none`,
  })

export const submissionAddress = closedObject(
  {
    host: Type.String({
      description: '`POSTRIDER_INBOUND_HOST`, by default the host of `POSTRIDER_PUBLIC_URL`',
      examples: ['mail.example.com'],
    }),
    starttls_port: port('STARTTLS'),
    tls_port: port('TLS from the first byte on'),
  },
  { description: 'Where programs hand in mail over SMTP' },
)
export type SubmissionAddress = Static<typeof submissionAddress>

export const getSessionAnswer = answer({
  ...sessionFields,
  submission: Type.Union([submissionAddress, Type.Null()], {
    description: 'Where programs hand in mail over SMTP; null: none of its ports is set here',
  }),
})
export type GetSessionAnswer = Static<typeof getSessionAnswer>

export const deleteSessionAnswer = plainAnswer
export type DeleteSessionAnswer = Static<typeof deleteSessionAnswer>

export const listedSession = closedObject(
  {
    session_id: Type.String({ description: 'Identifier of the session' }),
    current: Type.Boolean({ description: 'Whether it is the session that asks' }),
    created_at: timestamp('When the user logged in'),
    last_used_at: timestamp('To the minute'),
    ip: Type.String({ description: 'The address of the login' }),
    user_agent: Type.String({ description: 'The browser of the login' }),
  },
  { description: 'A session of the user' },
)
export type ListedSession = Static<typeof listedSession>

export const listSessionsAnswer = answer({
  sessions: Type.Array(listedSession, { description: 'Newest first' }),
})
export type ListSessionsAnswer = Static<typeof listSessionsAnswer>

export const sessionParams = closedObject({ session_id: Type.String({ maxLength: 64 }) })
export type SessionParams = Static<typeof sessionParams>

export const revokeSessionAnswer = plainAnswer
export type RevokeSessionAnswer = Static<typeof revokeSessionAnswer>
