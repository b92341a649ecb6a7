/** What a person sees when the service has started; on the first start, what to type next. */
export interface WelcomeFacts {
  readonly url: string
  /** Of the SMTP listener, where there is one. */
  readonly inboundPort: number | undefined
  /** On which programs hand in mail. */
  readonly submissionPorts: readonly number[]
  /** Those that do something. */
  readonly roles: readonly string[]
  /** Where its role is `api`. */
  readonly hasDashboard: boolean
  readonly dataDir: string | undefined
  /** Only on the first start: it cannot be shown again. */
  readonly apiKey: string | undefined
  readonly hasTenant: boolean
  /** While there is no user. */
  readonly setupUrl: string | undefined
  /** By which the command line is called. */
  readonly command: string
}

/** In an image, a Debian package or a global installation there is no npx. */
export function commandOf(env: Readonly<Record<string, string | undefined>>): string {
  return env.npm_command === undefined ? 'postrider' : 'npx postrider'
}

export function welcome(o: WelcomeFacts): string {
  const isApi = o.roles.includes('api')
  const lines = [
    '',
    'Postrider is running.',
    ...(isApi && o.hasDashboard ? [`  Dashboard  ${o.url}/app/`] : []),
    ...(isApi
      ? [`  API        ${o.url}`, `  Reference  ${o.url}/docs   (OpenAPI: ${o.url}/openapi.json)`]
      : []),
    `  Health     ${o.url}/readyz   Metrics: ${o.url}/metrics`,
    ...(o.inboundPort === undefined
      ? []
      : [`  Inbound    SMTP on port ${o.inboundPort}: inbound domains need it as port 25`]),
    ...(o.submissionPorts.length === 0
      ? []
      : [
          `  Submission SMTP for programs on port ${o.submissionPorts.join(' and ')}: an API key is the password`,
        ]),
    `  Roles      ${o.roles.join(', ') || 'none'}`,
    ...(o.dataDir === undefined ? [] : [`  Data       ${o.dataDir} (embedded PostgreSQL)`]),
    '',
  ]
  if (o.apiKey !== undefined)
    lines.push(
      'The API key of the tenant "default", for your programs. It is shown only now:',
      '',
      `  ${o.apiKey}`,
      '',
      'To send from here, put your mail server and addresses into these two and paste them:',
      '',
      ...firstSteps(o.url, o.apiKey),
      '',
    )
  // At the first start the last of all: a person at a terminal sees the end.
  if (o.setupUrl !== undefined)
    lines.push(
      'Begin in a browser. This link makes the first user of the dashboard, within an hour:',
      '',
      `  ${o.setupUrl}`,
      '',
      `The dashboard leads to the first mail. Another link: ${o.command} user invite`,
      '',
    )
  if (o.apiKey === undefined && !o.hasTenant)
    lines.push(
      'There is no tenant yet. Create one, with its first API key:',
      '',
      `  ${o.command} tenant create NAME`,
      '',
    )
  if (isApi && o.apiKey === undefined && o.hasTenant)
    lines.push(`API keys are shown once; another: ${o.command} key create TENANT_ID`, '')
  return `${lines.join('\n')}\n`
}

/** Webhooks come later: an address that does not answer would be refused. */
function firstSteps(url: string, apiKey: string): string[] {
  const curl = (path: string, body: object) =>
    [
      `curl ${url}${path} \\`,
      `  -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\`,
      `  -d '${JSON.stringify(body)}'`,
    ].join('\n')
  return [
    curl('/v1/smtp', {
      name: 'My mail server',
      email: 'me@example.com',
      config_type: 'smtp',
      connection_type: 'basic',
      config: {
        host: 'smtp.example.com',
        port: 587,
        username: 'me@example.com',
        password: 'secret',
        secure: 'Tls',
      },
    }),
    '',
    curl('/v1/email/send', {
      from: { email: 'me@example.com' },
      to: [{ email: 'you@example.com' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'It works.' }],
    }),
  ]
}
