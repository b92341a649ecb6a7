import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The events that the reference shows, which `e2e/examples.test.ts` records: scripts/build-dashboard.mjs knows it, too. */
const recorded = fileURLToPath(
  new URL('../server/src/platform/http/description/examples.json', import.meta.url),
)

function eventExamples(): Plugin {
  const name = 'virtual:event-examples'
  return {
    name: 'event-examples',
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined
      this.addWatchFile(recorded)
      // The others have no toggle.
      const others = ['INCOMING_EMAIL', 'DOMAIN_VERIFICATION', 'MAILER_DEACTIVATED']
      const { events } = JSON.parse(readFileSync(recorded, 'utf8'))
      for (const name of others) Reflect.deleteProperty(events, name)
      return `export const examples = ${JSON.stringify(events)}`
    },
  }
}

/** Made into `dist/`, which the service serves under `/app/`. Nothing is inlined: the CSP permits no `data:` script or font. */
export default defineConfig({
  base: '/app/',
  plugins: [react(), eventExamples()],
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: {
      output: {
        // Many small files are compressed worse than few. What is opened together is one file.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'first', tags: ['$initial'] },
            { name: 'library', test: /\/node_modules\//, minShareCount: 2 },
            { name: 'parts', test: /\/src\/(?:api|session|ui|words)\//, minShareCount: 2 },
            { name: 'mail', test: /\/src\/(?:email|emails|events)\//, minShareCount: 2 },
            { name: 'mailers', test: /\/src\/(?:mailers|mailboxes|oauth|webhooks)\// },
            { name: 'operator', test: /\/src\/operator\// },
            { name: 'inbound', test: /\/src\/(?:domains|inbound|protection|suppressions)\// },
            {
              name: 'account',
              test: /\/src\/(?:alerts|audit|developers|settings|templates|test-inbox|usage)\//,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { '/ui': 'http://127.0.0.1:8080', '/openapi.json': 'http://127.0.0.1:8080' } },
})
