<?php
// A front controller. The path is what frameworks route by: what follows the script, or the path of the request.
header('Content-Type: application/json');
echo json_encode([
    'path' => $_SERVER['PATH_INFO'] ?? parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH),
    'query' => $_SERVER['QUERY_STRING'] ?? '',
    'method' => $_SERVER['REQUEST_METHOD'],
    'content' => file_get_contents('php://input'),
]);
