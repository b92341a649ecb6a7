import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program stores a template. */
export const templateSnippets = () =>
  snippetsOf({
    operation: 'createTemplate',
    path: '/v1/templates',
    body: {
      name: 'Receipt',
      subject: 'Order {{ order_id }}',
      content: [{ type: 'text/html', value: '<p>Thank you, {{ name }}.</p>' }],
    },
  })
