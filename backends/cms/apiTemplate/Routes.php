<?php
// The routes of this site: method, endpoint, class, method of the class, options.
// The file is data: nothing in it is executed. It is read again when it changes.

require_once __DIR__ . '/Example.js';

$routes = [
  ['OPTIONS', 'test', RestApiHelper::class, 'preflight', ['auth' => false]],
  ['GET', 'test', Example::class, 'test'],

  // A group: GET /users and GET /users/7. Without authorization in every mode.
  'users' => [
    ['GET', '', Example::class, 'getAllUsers', ['auth' => false]],
    ['GET', '{id:\d+}', Example::class, 'getUser', ['auth' => false]],
  ],
];
