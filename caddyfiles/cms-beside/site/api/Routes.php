<?php
// Two versions of the API side by side: /api/v1/posts and /api/v2/posts.

require_once __DIR__ . '/Posts.js';
require_once __DIR__ . '/NewPosts.js';

$routes = [
  'v1' => [
    ['GET', 'posts', Posts::class, 'list', ['auth' => false]],
  ],
  'v2' => [
    ['GET', 'posts', NewPosts::class, 'list', ['auth' => false]],
    ['GET', 'posts/{id:\d+}', NewPosts::class, 'one', ['auth' => false]],
  ],
];
